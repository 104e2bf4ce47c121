//! How long one service waits before it tries again, alone.

use std::time::Duration;

use tokio::time::Instant;

const BASE: Duration = Duration::from_millis(100);
const CAP: Duration = Duration::from_secs(5);

/// 100 ms × 2^n, at most 5 s, with up to half of it taken off at random.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
    until: Option<Instant>,
}

impl Backoff {
    /// The failure count goes up; returns when to try again.
    pub(crate) fn next(&mut self, now: Instant) -> Instant {
        let whole = BASE.saturating_mul(1 << self.failures.min(10)).min(CAP);
        self.failures = self.failures.saturating_add(1);
        let until = now + whole.mul_f64(1.0 - 0.5 * fastrand::f64());
        self.until = Some(until);
        until
    }

    pub(crate) fn wait_until(&mut self, until: Instant) {
        self.until = Some(until);
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn is_waiting(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now < until)
    }

    pub(crate) const fn until(&self) -> Option<Instant> {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_five_seconds() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        let waits: Vec<_> = (0..50).map(|_| backoff.next(now) - now).collect();
        assert!(waits[0] >= BASE / 2 && waits[0] <= BASE);
        assert!(waits[20..].iter().all(|w| *w >= CAP / 2 && *w <= CAP), "{waits:?}");
    }
}
