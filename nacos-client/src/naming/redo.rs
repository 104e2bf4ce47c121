//! Making the server agree with the wishes of one service: a pure state machine.
//!
//! ```text
//!              wished for ≠ known                 acknowledged
//!   idle(known) ───────────────▶ in flight(sent) ───────────────▶ idle(known = sent)
//!        ▲                          │ refused: what is new in it is left out; failed: back-off of this service
//!        └──────────────────────────┘
//!   a new epoch: nothing is known, so nothing unwanted is deregistered
//! ```
//!
//! A connection holds *one* record per service: one instance or one batch. So the full set is sent, never a part; and at
//! most one mutating call per service is in flight, because servers run the calls of a connection in parallel.

use std::sync::Arc;

use tokio::time::Instant;

use super::backoff::Backoff;
use super::link::Link;
use super::persistent::PersistentWishes;
use super::plan::{Plan, contains, plan, plan_adding, same_address};
use super::slot::REFUSED_RETRY;
use super::trouble::Trouble;
use super::wishes::{Verdict, Wish, Wishes};
use crate::model::{Instance, ServiceKey};
use crate::transport::{Call, CallError, Dialect, Epoch, Reply};

/// First server version with batches.
const BATCH_NEEDS: &str = "2.1.1";

/// Everything wanted and known about the registrations of one service.
#[derive(Debug, Default)]
pub(crate) struct Redo {
    pub(crate) wishes: Wishes,
    pub(crate) persistent: PersistentWishes,
    slot: Slot,
    /// Calls begun so far.
    flights: u64,
}

/// What one connection is known to hold.
#[derive(Debug, Default)]
struct Slot {
    epoch: Option<Epoch>,
    /// Acknowledged; sorted by identity.
    known: Vec<Arc<Instance>>,
    /// What failed calls may have left there.
    maybe: Vec<Arc<Instance>>,
    flight: Option<Flight>,
    backoff: Backoff,
    /// Why the last call about the set failed; nothing after a success.
    trouble: Option<Box<Trouble>>,
    /// The server of this connection knows no batches.
    no_batch: bool,
    copy: Copy,
}

/// During a handover: what the old connection holds must be on the new one, unchanged, before the old one goes.
#[derive(Debug, Default, PartialEq, Eq)]
enum Copy {
    #[default]
    No,
    /// These are to be registered as they are.
    Due(Vec<Arc<Instance>>),
    /// Done; changes wait until the old connection is closed.
    Done,
}

/// What a call about the set does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// What it leaves is all that the connection then holds.
    Whole,
    /// The same, by several instances at once.
    Batch,
    /// It removes the address of the first of [`Slot::maybe`] and nothing else.
    Removal,
}

/// A call that is on its way.
#[derive(Debug, Clone)]
pub(crate) struct Flight {
    /// Distinguishes it from calls before and after.
    id: u64,
    kind: FlightKind,
}

#[derive(Debug, Clone)]
enum FlightKind {
    /// What the connection will hold when it is acknowledged, with the version of each wish in it.
    Set {
        after: Vec<Arc<Instance>>,
        versions: Vec<(Arc<Instance>, u64)>,
        form: Form,
    },
    Persistent,
}

impl Redo {
    /// The next call to send, if any; it must then be sent and reported with [`Redo::done`].
    pub(crate) fn next(&mut self, key: &ServiceKey, link: &Link, now: Instant) -> Option<(Flight, Call)> {
        self.observe(link);
        if self.slot.flight.is_some() || self.slot.backoff.is_waiting(now) {
            return None;
        }
        let session = link.session()?;
        let (kind, call) = match self.next_set(key, session.info().dialect, now) {
            Some(next) => next,
            None => (FlightKind::Persistent, self.persistent.next(key, now)?),
        };
        self.flights += 1;
        let flight = Flight { id: self.flights, kind };
        self.slot.flight = Some(flight.clone());
        Some((flight, call))
    }

    /// Turns to the current connection, if it is another one than before.
    pub(crate) fn observe(&mut self, link: &Link) {
        let epoch = link.epoch();
        let old = link.old_epoch();
        if self.slot.epoch == epoch {
            if old.is_none() && self.slot.copy != Copy::No {
                self.slot.copy = Copy::No;
            }
            return;
        }
        let replaced = old.is_some() && old == self.slot.epoch;
        if replaced && self.slot.flight.is_some() {
            // The old connection still answers, and what it holds is known only then.
            return;
        }
        if self.slot.flight.as_ref().is_some_and(|f| matches!(f.kind, FlightKind::Persistent)) {
            self.persistent.interrupted();
        }
        let before = std::mem::take(&mut self.slot);
        self.slot.epoch = epoch;
        if replaced && before.maybe.is_empty() && !before.known.is_empty() {
            self.slot.copy = Copy::Due(before.known);
        }
        self.wishes.forget_acknowledgements();
    }

    /// Whether the new connection still lacks what the old one holds.
    pub(crate) fn is_copying(&self, link: &Link) -> bool {
        let still_on_old = self.slot.epoch.is_some() && self.slot.epoch == link.old_epoch();
        still_on_old && self.slot.flight.is_some() || matches!(self.slot.copy, Copy::Due(_))
    }

    fn next_set(&mut self, key: &ServiceKey, dialect: Dialect, now: Instant) -> Option<(FlightKind, Call)> {
        if self.slot.copy == Copy::Done {
            return None;
        }
        let target = match &self.slot.copy {
            // A record is copied whole or not at all: one that differs in anything would be listed beside the old one.
            Copy::Due(copy) if copy.iter().any(|i| self.wishes.of(i).is_some()) => copy.clone(),
            Copy::Due(_) => {
                self.slot.copy = Copy::Done;
                return None;
            }
            Copy::No | Copy::Done => self.target(now),
        };
        let planned = match dialect {
            Dialect::Replacing => plan(&target, &self.slot.known, &self.slot.maybe),
            Dialect::Adding => plan_adding(&target, &self.slot.known, &self.slot.maybe),
        };
        let versions: Vec<_> = target.iter().filter_map(|i| self.version_of(i).map(|v| (Arc::clone(i), v))).collect();
        let (after, call, form) = match planned {
            Plan::Nothing => {
                self.acknowledge(&versions);
                return None;
            }
            Plan::Deregister { instance, after } => {
                let form = match dialect {
                    Dialect::Replacing => Form::Whole,
                    Dialect::Adding => {
                        self.slot.maybe.retain(|i| !same_address(i, &instance));
                        self.slot.maybe.insert(0, Arc::clone(&instance));
                        Form::Removal
                    }
                };
                (after, Call::Deregister { key: key.clone(), instance }, form)
            }
            Plan::Register { mut send, after } => match (send.pop(), send.is_empty()) {
                (Some(instance), true) => (after, Call::Register { key: key.clone(), instance }, Form::Whole),
                (last, _) => {
                    send.extend(last);
                    (after, Call::RegisterBatch { key: key.clone(), instances: send }, Form::Batch)
                }
            },
        };
        // What a removal leaves is acknowledged too, but not yet what else is wanted.
        let versions = versions.into_iter().filter(|(i, _)| contains(&after, i)).collect();
        Some((FlightKind::Set { after, versions, form }, call))
    }

    /// The version of the wish that `instance` is the current form of.
    fn version_of(&self, instance: &Instance) -> Option<u64> {
        self.wishes.of(instance).filter(|wish| *wish.instance == *instance).map(|wish| wish.version)
    }

    /// What the connection should hold now: all wishes but those that the server is known not to take.
    fn target(&mut self, now: Instant) -> Vec<Arc<Instance>> {
        for wish in self.wishes.iter_mut() {
            if matches!(wish.verdict, Verdict::Refused { until, .. } if until <= now) {
                wish.verdict = Verdict::Suspect;
            }
        }
        let single = self.slot.no_batch.then(|| self.wishes.iter().map(|w| w.order).min()).flatten();
        let mut tried = false;
        let mut target = Vec::with_capacity(self.wishes.len());
        for wish in self.wishes.iter_mut() {
            match single {
                Some(first) if wish.order != first => wish.verdict = Verdict::Unsupported { needs: BATCH_NEEDS },
                // It is the first one now.
                Some(_) if matches!(wish.verdict, Verdict::Unsupported { .. }) => wish.verdict = Verdict::Open,
                _ => {}
            }
            let taken = match wish.verdict {
                Verdict::Open => true,
                // One suspect at a time, so that a refusal says which it is.
                Verdict::Suspect => !std::mem::replace(&mut tried, true),
                Verdict::Refused { .. } | Verdict::Unsupported { .. } => false,
            };
            if taken {
                target.push(Arc::clone(&wish.instance));
            } else if let Ok(at) = self.slot.known.binary_search_by(|k| k.cmp_key(&wish.instance)) {
                // A refused change leaves what was acknowledged before it.
                target.extend(self.slot.known.get(at).cloned());
            }
        }
        target
    }

    fn acknowledge(&mut self, versions: &[(Arc<Instance>, u64)]) {
        for (instance, version) in versions {
            if let Some(wish) = self.wishes.of_mut(instance) {
                wish.acknowledged(*version);
            }
        }
    }

    /// A call ended. `false` if it was one of an earlier connection.
    pub(crate) fn done(&mut self, flight: &Flight, answer: Result<Reply, CallError>, now: Instant) -> bool {
        if self.slot.flight.as_ref().is_none_or(|own| own.id != flight.id) {
            return false;
        }
        self.slot.flight = None;
        match (&flight.kind, answer) {
            (FlightKind::Persistent, Ok(_)) => self.persistent.acknowledged(),
            (FlightKind::Persistent, Err(error)) => match Trouble::of(error) {
                Some(trouble) => self.persistent.failed(trouble, now),
                None => self.link_over(now),
            },
            (FlightKind::Set { after, versions, .. }, Ok(Reply::Partly(failed))) => {
                self.set_partly_done(after, versions, failed, now);
            }
            (FlightKind::Set { after, versions, form }, Ok(_)) => {
                self.slot.known.clone_from(after);
                let settled = match form {
                    // The rest of what failed calls may have left is still there.
                    Form::Removal => 1.min(self.slot.maybe.len()),
                    Form::Whole | Form::Batch => self.slot.maybe.len(),
                };
                self.slot.maybe.drain(..settled);
                self.slot.backoff.clear();
                self.slot.trouble = None;
                self.acknowledge(versions);
                if matches!(self.slot.copy, Copy::Due(_)) {
                    self.slot.copy = Copy::Done;
                }
            }
            (FlightKind::Set { after, form, .. }, Err(error)) => self.set_failed(after, *form, error, now),
        }
        true
    }

    /// The event that ends the epoch follows; until then there is nothing to try.
    fn link_over(&mut self, now: Instant) {
        self.persistent.interrupted();
        self.slot.backoff.wait_until(now + REFUSED_RETRY);
    }

    fn set_failed(&mut self, after: &[Arc<Instance>], form: Form, error: CallError, now: Instant) {
        let Some(trouble) = Trouble::of(error) else {
            self.slot.maybe.extend(after.iter().cloned());
            return self.link_over(now);
        };
        if matches!(self.slot.copy, Copy::Due(_)) {
            // It will be made as an ordinary change after the handover.
            self.slot.copy = Copy::Done;
        }
        if form == Form::Batch && matches!(trouble, Trouble::Unsupported(_)) {
            self.slot.no_batch = true;
            return;
        }
        self.slot.trouble = Some(Box::new(trouble.clone()));
        let new: Vec<_> = after.iter().filter(|i| !contains(&self.slot.known, i)).cloned().collect();
        match (trouble.is_final(), &new[..]) {
            (true, []) => self.slot.backoff.wait_until(now + REFUSED_RETRY),
            (true, [one]) => self.refused(&[Arc::clone(one)], |wish| {
                wish.verdict = Verdict::Refused { trouble: trouble.clone(), until: now + REFUSED_RETRY };
            }),
            (true, several) => self.refused(several, |wish| wish.verdict = Verdict::Suspect),
            (false, _) => {
                // It may have been done all the same.
                self.slot.maybe.extend(after.iter().chain(&self.slot.known).cloned());
                self.slot.maybe.sort_by(|a, b| a.cmp_key(b));
                self.slot.maybe.dedup();
                self.slot.backoff.next(now);
                self.refused(&new, |wish| wish.failed(trouble.clone(), now));
            }
        }
    }

    /// A batch that is taken instance by instance: what was taken is known, each of the others is judged for itself.
    fn set_partly_done(
        &mut self,
        after: &[Arc<Instance>],
        versions: &[(Arc<Instance>, u64)],
        failed: Vec<(Arc<Instance>, CallError)>,
        now: Instant,
    ) {
        let has_failed = |i: &Instance| failed.iter().any(|(failed, _)| failed.key_parts() == i.key_parts());
        let taken = after.iter().filter(|i| !has_failed(i));
        // A change that failed leaves what was acknowledged before it.
        let kept = self.slot.known.iter().filter(|i| has_failed(i));
        let mut known: Vec<_> = taken.chain(kept).cloned().collect();
        known.sort_by(|a, b| a.cmp_key(b));
        let taken: Vec<_> = versions.iter().filter(|(i, _)| !has_failed(i)).cloned().collect();
        self.acknowledge(&taken);
        self.slot.known = known;
        self.slot.maybe.clear();
        let mut again = false;
        for (instance, error) in failed {
            // An epoch that ended fails the whole call.
            let Some(trouble) = Trouble::of(error) else { continue };
            self.slot.trouble = Some(Box::new(trouble.clone()));
            if trouble.is_final() {
                self.refused(&[instance], |wish| {
                    wish.verdict = Verdict::Refused { trouble: trouble.clone(), until: now + REFUSED_RETRY };
                });
            } else {
                self.refused(&[Arc::clone(&instance)], |wish| wish.failed(trouble.clone(), now));
                // It may have been done all the same.
                self.slot.maybe.push(instance);
                again = true;
            }
        }
        if again {
            self.slot.backoff.next(now);
        } else {
            self.slot.backoff.clear();
        }
        if matches!(self.slot.copy, Copy::Due(_)) {
            self.slot.copy = Copy::Done;
        }
    }

    /// Applies `verdict` to the wishes that are still what was sent.
    fn refused(&mut self, sent: &[Arc<Instance>], verdict: impl Fn(&mut Wish)) {
        for instance in sent {
            if let Some(wish) = self.wishes.of_mut(instance).filter(|wish| *wish.instance == **instance) {
                verdict(wish);
            }
        }
    }

    /// There is a token: what was denied, or not sent for want of one, is tried again now.
    pub(crate) fn logged_in(&mut self) {
        self.wishes.logged_in();
        self.persistent.logged_in();
        if self.slot.trouble.as_ref().is_some_and(|trouble| trouble.awaits_login()) {
            self.slot.backoff.clear();
        }
    }

    /// When to call [`Redo::next`] again, if nothing happens before.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        if self.slot.flight.is_some() || self.slot.epoch.is_none() {
            return None;
        }
        let retry = [self.wishes.retry_at(), self.persistent.retry_at()].into_iter().flatten().min();
        match self.slot.backoff.until() {
            Some(until) => Some(retry.map_or(until, |at| at.max(until))),
            None => retry,
        }
    }

    /// Whether the current connection may still hold an instance of this identity.
    pub(crate) fn may_be_held(&self, instance: &Instance) -> bool {
        let slot = &self.slot;
        let same = |i: &Arc<Instance>| i.key_parts() == instance.key_parts();
        let in_flight = match slot.flight.as_ref().map(|f| &f.kind) {
            Some(FlightKind::Set { after, .. }) => after.iter().any(same),
            Some(FlightKind::Persistent) | None => false,
        };
        in_flight || slot.known.iter().chain(&slot.maybe).any(same)
    }

    /// Why what is not wanted any more is still held, if the server said so.
    pub(crate) fn trouble(&self) -> Option<&Trouble> {
        self.slot.trouble.as_deref()
    }

    /// How many instances are wanted but not acknowledged by the current connection.
    pub(crate) fn backlog(&self) -> usize {
        self.wishes.iter().filter(|wish| !wish.is_acknowledged()).count() + self.persistent.backlog()
    }

    /// Nothing is wanted, known or under way.
    pub(crate) fn is_empty(&self) -> bool {
        let slot = &self.slot;
        let idle = slot.flight.is_none() && slot.known.is_empty() && slot.maybe.is_empty();
        idle && self.wishes.is_empty() && self.persistent.is_empty()
    }

    /// Nothing ephemeral is left on the server, as far as is known.
    pub(crate) fn is_clean(&self) -> bool {
        self.slot.flight.is_none() && self.slot.known.is_empty() && self.slot.maybe.is_empty()
    }
}

#[cfg(test)]
mod tests;
