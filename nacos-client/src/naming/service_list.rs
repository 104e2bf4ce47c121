//! The list of one service as a pure state machine: which of two lists is newer, and what is shown.
//!
//! A list that comes with a connection epoch that no longer counts is dropped. Within an epoch pushes are ordered by the
//! server's time stamps as long as these make sense, and an answer counts only if no push was applied since its request
//! was sent. Whatever is dropped although it may have been right leads to a check: a query one second later. So time
//! stamps, which are wall clocks of servers, cost latency at worst and never correctness.
//!
//! A datagram may be late, repeated or overtaken, and several servers may send some. It is applied only if the last one
//! was of the same server, and neither that nor the last answer is younger; otherwise it leads to a query at once.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::time::Instant;

use super::hold::Guard;
use super::link::Link;
use crate::model::{HostList, ServiceKey, ServiceSnapshot, SnapshotFlags};
use crate::transport::{Epoch, Origin};

/// A push this much older than the last one, in milliseconds, means that the server's clock was set back.
const CLOCK_STEP_MS: i64 = 10_000;

/// One list of a server.
#[derive(Debug)]
pub(crate) struct Received {
    /// The connection it came by.
    pub(crate) epoch: Epoch,
    /// Local counter, taken when a push arrived or when an answer's request was sent.
    pub(crate) seq: u64,
    /// The server's time stamp, in milliseconds.
    pub(crate) ts: i64,
    /// The instances.
    pub(crate) list: HostList,
}

/// What became of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Applied, and something changed.
    Changed,
    /// Applied, and everything is as it was.
    Unchanged,
    /// A newer one came before it.
    Overtaken,
    /// Nobody can say whether it is newer than what is known: ask.
    Doubtful,
    /// Of a connection that does not count any more.
    OldEpoch,
}

/// The list of one service.
#[derive(Debug)]
pub(crate) struct ServiceList {
    guard: Guard,
    /// The epoch of the last list applied; orders are kept within it.
    epoch: Option<Epoch>,
    last_ts: Option<i64>,
    /// Stamp of the last answer applied.
    answer_ts: Option<i64>,
    /// Sender of the last datagram, and the stamp that its next one must have at least.
    datagram: Option<(SocketAddr, i64)>,
    /// Arrival of the last push applied.
    push_seq: Option<u64>,
    revision: u64,
    /// The next list ends a gap: the connection before was lost, even if only for a moment.
    gap: bool,
    resyncs: u64,
    current: Option<Arc<ServiceSnapshot>>,
}

impl ServiceList {
    /// Nothing known; the first snapshot has a revision above `revision`.
    pub(crate) const fn new(guard: Guard, revision: u64) -> Self {
        Self {
            guard,
            epoch: None,
            last_ts: None,
            answer_ts: None,
            datagram: None,
            push_seq: None,
            revision,
            gap: false,
            resyncs: 0,
            current: None,
        }
    }

    /// The newest snapshot.
    pub(crate) const fn current(&self) -> Option<&Arc<ServiceSnapshot>> {
        self.current.as_ref()
    }

    pub(crate) const fn revision(&self) -> u64 {
        self.revision
    }

    /// Whether removals are held.
    pub(crate) fn is_holding(&self) -> bool {
        self.guard.held().is_some()
    }

    /// When a query must decide about what is held.
    pub(crate) fn decision_at(&self) -> Option<Instant> {
        self.guard.decision_at()
    }

    /// Takes a list the server pushed.
    pub(crate) fn push(
        &mut self,
        key: &ServiceKey,
        link: &Link,
        origin: Origin,
        push: Received,
        now: Instant,
    ) -> Taken {
        let Some(connected) = self.enter(link, push.epoch) else { return Taken::OldEpoch };
        match origin {
            Origin::Stream if self.is_overtaken(push.ts) => return Taken::Overtaken,
            Origin::Datagram(sender) if self.is_doubtful(sender, push.ts) => return Taken::Doubtful,
            Origin::Stream | Origin::Datagram(_) => {}
        }
        self.last_ts = Some(push.ts);
        self.push_seq = Some(push.seq);
        self.apply(key, push.list, connected, now)
    }

    /// Takes the list a query or subscription was answered with; its `seq` is that of the request.
    pub(crate) fn answer(&mut self, key: &ServiceKey, link: &Link, answer: Received, now: Instant) -> Taken {
        let Some(connected) = self.enter(link, answer.epoch) else { return Taken::OldEpoch };
        if self.push_seq.is_some_and(|pushed| pushed > answer.seq) {
            return Taken::Overtaken;
        }
        self.last_ts = self.last_ts.max(Some(answer.ts));
        self.answer_ts = Some(answer.ts);
        // Also if it is lower: then the server's clock was set back.
        self.datagram = self.datagram.map(|(sender, _)| (sender, answer.ts));
        self.apply(key, answer.list, connected, now)
    }

    /// The connection is lost: what is known stays, marked.
    pub(crate) fn lost(&mut self, key: &ServiceKey, since: Instant) -> Taken {
        let Some(current) = &self.current else { return Taken::Unchanged };
        if current.stale_since().is_some() {
            return Taken::Unchanged;
        }
        let flags = SnapshotFlags { held: current.held(), stale_since: Some(since.into_std()) };
        let (list, received) = (Arc::clone(current.list()), current.received_at());
        self.publish(key, list, flags, received);
        Taken::Changed
    }

    /// Forgets the list: nobody keeps it up to date any more.
    pub(crate) fn clear(&mut self) {
        self.guard.clear();
        (self.epoch, self.current) = (None, None);
        self.forget_order();
        self.gap = false;
    }

    fn forget_order(&mut self) {
        (self.last_ts, self.answer_ts, self.datagram, self.push_seq) = (None, None, None, None);
    }

    fn is_overtaken(&self, ts: i64) -> bool {
        // A wide difference could overflow: time stamps are whatever the server wrote.
        self.last_ts.is_some_and(|last| ts < last && ts >= last.saturating_sub(CLOCK_STEP_MS))
    }

    /// A lost packet that is sent again may be older than what a poll has found meanwhile, so answers count as well.
    fn is_doubtful(&mut self, sender: SocketAddr, ts: i64) -> bool {
        let least = self.datagram.filter(|(last, _)| *last == sender).map(|(_, least)| least);
        self.datagram = Some((sender, Some(ts).max(least).max(self.answer_ts).unwrap_or(ts)));
        least.is_none_or(|least| ts < least)
    }

    /// Since when the connection `epoch` serves, if its lists count; turns to it if it is a newer one.
    fn enter(&mut self, link: &Link, epoch: Epoch) -> Option<Instant> {
        let connected = link.since(epoch)?;
        if self.epoch.is_some_and(|own| epoch < own) {
            return None;
        }
        if self.epoch != Some(epoch) {
            self.gap = self.epoch.is_some_and(|own| link.since(own).is_none());
            self.epoch = Some(epoch);
            self.forget_order();
        }
        Some(connected)
    }

    fn apply(&mut self, key: &ServiceKey, list: HostList, connected: Instant, now: Instant) -> Taken {
        let mut list = self.guard.take(list, connected, now);
        let flags = SnapshotFlags { held: self.guard.held(), stale_since: None };
        let gap = std::mem::take(&mut self.gap);
        if let Some(current) = &self.current {
            if current.list().same_content(&list) {
                if !gap && (current.held(), current.stale_since()) == (flags.held, flags.stale_since) {
                    return Taken::Unchanged;
                }
                list = Arc::clone(current.list());
            }
            self.resyncs += u64::from(gap || current.stale_since().is_some());
        }
        self.publish(key, list, flags, now.into_std());
        Taken::Changed
    }

    fn publish(&mut self, key: &ServiceKey, list: Arc<HostList>, flags: SnapshotFlags, received: std::time::Instant) {
        self.revision += 1;
        let (revision, resyncs) = (self.revision, self.resyncs);
        self.current = Some(Arc::new(ServiceSnapshot::new(key.clone(), revision, resyncs, received, flags, list)));
    }
}

#[cfg(test)]
mod tests;
