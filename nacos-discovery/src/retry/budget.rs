//! How many repetitions a service is given.
//!
//! A limit per request cannot stop a storm: when a service is down, two attempts per request double its load at the worst
//! moment. A budget bounds repetitions by the traffic: a share of all requests, and a floor without which a service that is
//! rarely called could never be tried again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::RetrySettings;

/// How long requests and repetitions count.
pub(super) const WINDOW: Duration = Duration::from_secs(10);

/// One per second of the window, and one that is being filled: so no 10 s, however they lie, see more than allowed.
const SLOTS: usize = WINDOW.as_secs() as usize + 1;

/// How much is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Allowance {
    /// Repetitions per 100 requests.
    pub(super) percent: u32,
    /// Repetitions per second that are always allowed.
    pub(super) per_second: u32,
}

/// Counts requests and repetitions of the last 10 s. Pure: it is told the time.
#[derive(Debug)]
struct Budget {
    allowance: Allowance,
    slots: [Count; SLOTS],
    total: Count,
    origin: Instant,
    /// The second since `origin` that is being counted.
    second: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    requests: u64,
    repetitions: u64,
}

impl Budget {
    fn new(allowance: Allowance, now: Instant) -> Self {
        Self { allowance, slots: [Count::default(); SLOTS], total: Count::default(), origin: now, second: 0 }
    }

    /// A request comes.
    fn request(&mut self, now: Instant) {
        self.advance(now);
        self.slot().requests += 1;
        self.total.requests += 1;
    }

    /// Takes one repetition out, if there is one.
    fn take(&mut self, now: Instant) -> bool {
        self.advance(now);
        let floor = u64::from(self.allowance.per_second) * WINDOW.as_secs();
        let share = u128::from(self.total.requests) * u128::from(self.allowance.percent) / 100;
        let allowed = u128::from(self.total.repetitions) < u128::from(floor) + share;
        if allowed {
            self.slot().repetitions += 1;
            self.total.repetitions += 1;
        }
        allowed
    }

    /// Puts one back that was not used.
    fn put_back(&mut self, now: Instant) {
        self.advance(now);
        for age in 0..SLOTS as u64 {
            let Some(second) = self.second.checked_sub(age) else { return };
            let slot = &mut self.slots[(second % SLOTS as u64) as usize];
            if slot.repetitions > 0 {
                slot.repetitions -= 1;
                self.total.repetitions -= 1;
                return;
            }
        }
    }

    fn slot(&mut self) -> &mut Count {
        &mut self.slots[(self.second % SLOTS as u64) as usize]
    }

    /// Forgets what is older than the window. A time before the last one counts as that.
    fn advance(&mut self, now: Instant) {
        let second = now.saturating_duration_since(self.origin).as_secs();
        let passed = second.saturating_sub(self.second).min(SLOTS as u64);
        if passed == 0 {
            return;
        }
        self.second = second;
        for age in 0..passed {
            let slot = &mut self.slots[((second - age) % SLOTS as u64) as usize];
            let forgotten = std::mem::take(slot);
            self.total.requests -= forgotten.requests;
            self.total.repetitions -= forgotten.repetitions;
        }
    }
}

/// The budget of one service, shared by everyone who calls it. Each use holds a lock for some nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct SharedBudget {
    budget: Arc<Mutex<Budget>>,
}

impl SharedBudget {
    /// By these settings.
    pub(crate) fn new(settings: &RetrySettings, now: Instant) -> Self {
        Self::with(settings.allowance(), now)
    }

    fn with(allowance: Allowance, now: Instant) -> Self {
        Self { budget: Arc::new(Mutex::new(Budget::new(allowance, now))) }
    }

    /// A request comes.
    pub(super) fn request(&self, now: Instant) {
        self.lock().request(now);
    }

    /// Takes one repetition out, if there is one.
    pub(super) fn take(&self, now: Instant) -> bool {
        self.lock().take(now)
    }

    /// Puts one back that was not used.
    pub(super) fn put_back(&self, now: Instant) {
        self.lock().put_back(now);
    }

    fn lock(&self) -> MutexGuard<'_, Budget> {
        self.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
