//! How long one service waits before it tries again, alone.

use std::time::Duration;

use tokio::time::Instant;

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Calls that nothing else repeats: 100 ms … 5 s.
    Calls,
    /// Lists that are polled anyway, each failure of which has cost every server a request: 1 … 60 s.
    Polls,
}

impl Waits {
    const fn base(self) -> Duration {
        Duration::from_millis(match self {
            Self::Calls => 100,
            Self::Polls => 1_000,
        })
    }

    const fn cap(self) -> Duration {
        Duration::from_secs(match self {
            Self::Calls => 5,
            Self::Polls => 60,
        })
    }
}

/// The shortest × 2^n, at most the longest, with up to half of it taken off at random.
#[derive(Debug)]
pub(crate) struct Backoff {
    waits: Waits,
    failures: u32,
    until: Option<Instant>,
}

impl Default for Backoff {
    fn default() -> Self {
        Self::new(Waits::Calls)
    }
}

impl Backoff {
    pub(crate) const fn new(waits: Waits) -> Self {
        Self { waits, failures: 0, until: None }
    }

    /// The failure count goes up; returns when to try again.
    pub(crate) fn next(&mut self, now: Instant) -> Instant {
        let whole = self.waits.base().saturating_mul(1 << self.failures.min(10)).min(self.waits.cap());
        self.failures = self.failures.saturating_add(1);
        let until = now + whole.mul_f64(1.0 - 0.5 * fastrand::f64());
        self.until = Some(until);
        until
    }

    pub(crate) fn wait_until(&mut self, until: Instant) {
        self.until = Some(until);
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.waits);
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
    fn waits_grow_to_their_longest() {
        for kind in [Waits::Calls, Waits::Polls] {
            let (mut backoff, now, base, cap) = (Backoff::new(kind), Instant::now(), kind.base(), kind.cap());
            let waits: Vec<_> = (0..50).map(|_| backoff.next(now) - now).collect();
            assert!(waits[0] >= base / 2 && waits[0] <= base);
            assert!(waits[20..].iter().all(|w| *w >= cap / 2 && *w <= cap), "{waits:?}");
        }
    }
}
