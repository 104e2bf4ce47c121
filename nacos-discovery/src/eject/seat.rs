use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::breaker::Breaker;
use super::gate::{Gate, GateCell};
use super::rate::{Counts, RateWindow};
use super::{EjectionState, Ejector};

/// What the [`Ejector`] of a service keeps with each instance.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(super) gate: GateCell,
    /// The round of [`Ejector::members_changed`] in which it was usable last.
    round: AtomicU32,
    /// Changed only under the ejector's lock; this one lets reports look at it alone. Taken after the ejector's.
    record: Mutex<Record>,
    rate: Option<Box<RateWindow>>,
}

#[derive(Debug)]
pub(super) struct Record {
    pub(super) breaker: Breaker,
    /// Since when it is started slowly. `None` for an instance that was there from the first list on.
    pub(super) joined: Option<Instant>,
}

impl Seat {
    pub(crate) fn new(now: Instant, ejector: &Ejector) -> Self {
        let record = Record { breaker: Breaker::new(now), joined: ejector.has_list().then_some(now) };
        let rate = ejector.rules().and_then(|rules| rules.failure_rate());
        Self {
            gate: GateCell::default(),
            round: AtomicU32::new(0),
            record: Mutex::new(record),
            rate: rate.map(|rule| Box::new(RateWindow::new(*rule))),
        }
    }

    pub(crate) fn gate(&self) -> Gate {
        self.gate.read()
    }

    pub(crate) fn state(&self) -> EjectionState {
        match self.record().breaker {
            Breaker::Healthy { failures, .. } => EjectionState::Healthy { failures },
            Breaker::Ejected { until, pause } => EjectionState::Ejected { until, relapses: pause.relapses },
            Breaker::Probing { pause, .. } => EjectionState::Probing { relapses: pause.relapses },
        }
    }

    /// Since when it is started slowly. `None` for an instance that was there from the first list on: the oldest of all.
    pub(crate) fn joined(&self) -> Option<Instant> {
        self.record().joined
    }

    pub(super) fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call that ended at this time of the ejector; tells where too many failed.
    #[inline]
    pub(super) fn count(&self, failed: bool, at: impl FnOnce() -> u64) -> Option<Counts> {
        self.rate.as_ref().and_then(|rate| rate.record(failed, at()))
    }

    pub(super) fn forget_rate(&self) {
        if let Some(rate) = &self.rate {
            rate.clear();
        }
    }

    pub(super) fn list(&self, round: u32) {
        self.round.store(round, Ordering::Relaxed);
    }

    pub(super) fn is_listed(&self, round: u32) -> bool {
        self.round.load(Ordering::Relaxed) == round
    }
}
