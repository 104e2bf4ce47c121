//! The connection as naming sees it: which epochs count at the moment.

use std::sync::Arc;

use tokio::time::Instant;

use crate::transport::{Epoch, Session};

/// The current connection, the one it replaces if the server asked the client to move, or since when there is none.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    live: Option<Live>,
    /// Still serving beside `live`, until its handover ends.
    old: Option<(Epoch, Instant)>,
    lost_since: Option<Instant>,
}

#[derive(Debug, Clone)]
struct Live {
    session: Arc<dyn Session>,
    since: Instant,
}

impl Link {
    /// Before the first connection.
    pub(crate) const fn none() -> Self {
        Self { live: None, old: None, lost_since: None }
    }

    /// A new connection; `replaces` is the epoch that still serves beside it.
    pub(crate) fn connected(&mut self, session: Arc<dyn Session>, replaces: Option<Epoch>, now: Instant) {
        let previous = self.live.take().map(|live| (live.session.epoch(), live.since));
        self.old = previous.filter(|(epoch, _)| Some(*epoch) == replaces);
        self.live = Some(Live { session, since: now });
        self.lost_since = None;
    }

    /// The end of a connection. `true` if it was the current one.
    pub(crate) fn disconnected(&mut self, epoch: Epoch, now: Instant) -> bool {
        if self.old.is_some_and(|(old, _)| old == epoch) {
            self.old = None;
        }
        if self.epoch() != Some(epoch) {
            return false;
        }
        self.live = None;
        self.lost_since = Some(now);
        true
    }

    /// The current connection.
    pub(crate) fn session(&self) -> Option<&Arc<dyn Session>> {
        self.live.as_ref().map(|live| &live.session)
    }

    /// The current epoch.
    pub(crate) fn epoch(&self) -> Option<Epoch> {
        self.session().map(|session| session.epoch())
    }

    /// Since when the current connection serves.
    pub(crate) fn connected_since(&self) -> Option<Instant> {
        self.live.as_ref().map(|live| live.since)
    }

    /// Since when there is no connection, if there was one before.
    pub(crate) const fn lost_since(&self) -> Option<Instant> {
        self.lost_since
    }

    /// The epoch that is being replaced.
    pub(crate) fn old_epoch(&self) -> Option<Epoch> {
        self.old.map(|(epoch, _)| epoch)
    }

    /// Since when the connection `epoch` serves; `None` if it does not any more.
    pub(crate) fn since(&self, epoch: Epoch) -> Option<Instant> {
        if self.epoch() == Some(epoch) {
            return self.connected_since();
        }
        self.old.filter(|(old, _)| *old == epoch).map(|(_, since)| since)
    }
}
