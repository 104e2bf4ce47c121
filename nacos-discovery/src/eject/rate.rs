use std::sync::atomic::{AtomicU64, Ordering};

use super::EjectionCause;
use crate::settings::FailureRate;

const BUCKETS: u64 = 10;
/// Bits of a count. When a bucket has as many calls, it takes no more: the rate stays what it was.
const COUNT: u32 = 20;
const MOST: u64 = (1 << COUNT) - 1;

/// How many calls of an instance ended within the last ten parts of a window, and how many of them badly. Counts instead of an
/// average, so that a burst is seen at any rate of requests.
///
/// Each bucket is one word, whose parts change together: which part of time it is of (24 bits), calls, and failed ones.
#[derive(Debug)]
pub(super) struct RateWindow {
    buckets: [AtomicU64; BUCKETS as usize],
    /// Milliseconds per bucket.
    width: u64,
    rule: FailureRate,
}

/// Calls within a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) failed: u32,
    pub(super) calls: u32,
}

impl Counts {
    pub(super) const fn cause(self) -> EjectionCause {
        EjectionCause::FailureRate { failed: self.failed, calls: self.calls }
    }
}

impl RateWindow {
    pub(super) fn new(rule: FailureRate) -> Self {
        let width = u64::try_from(rule.window().as_millis() / u128::from(BUCKETS)).unwrap_or(u64::MAX).max(1);
        Self { buckets: Default::default(), width, rule }
    }

    /// Counts a call that ended at this millisecond. The counts of the window where now too many failed.
    pub(super) fn record(&self, failed: bool, at: u64) -> Option<Counts> {
        let part = at / self.width;
        let bucket = &self.buckets[(part % BUCKETS) as usize];
        // Always stores something, so it cannot fail.
        let _ = bucket.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |word| {
            let (calls, failures) = if stamp(word) == stamp_of(part) { counts(word) } else { (0, 0) };
            let full = calls == MOST;
            let (calls, failures) = if full { (calls, failures) } else { (calls + 1, failures + u64::from(failed)) };
            Some(stamp_of(part) << (2 * COUNT) | calls << COUNT | failures)
        });
        if failed { self.exceeded(part) } else { None }
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        for bucket in &self.buckets {
            bucket.store(0, Ordering::Relaxed);
        }
    }

    fn exceeded(&self, now: u64) -> Option<Counts> {
        let (mut calls, mut failed) = (0, 0);
        for part in now.saturating_sub(BUCKETS - 1)..=now {
            let word = self.buckets[(part % BUCKETS) as usize].load(Ordering::Relaxed);
            if stamp(word) == stamp_of(part) {
                let (more, bad) = counts(word);
                calls += more;
                failed += bad;
            }
        }
        // Ten counts of 20 bits fit.
        let counts = Counts { failed: failed as u32, calls: calls as u32 };
        self.rule.is_exceeded(counts.failed, counts.calls).then_some(counts)
    }
}

const fn stamp_of(part: u64) -> u64 {
    part & ((1 << 24) - 1)
}

const fn stamp(word: u64) -> u64 {
    word >> (2 * COUNT)
}

const fn counts(word: u64) -> (u64, u64) {
    ((word >> COUNT) & MOST, word & MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(share: f64, minimum: u32) -> RateWindow {
        RateWindow::new(FailureRate::new(share).with_minimum(minimum))
    }

    #[test]
    fn too_many_failures_among_enough_calls_are_told() {
        let window = window(0.5, 4);
        assert_eq!(window.record(true, 0), None, "too few calls");
        assert_eq!(window.record(false, 0), None);
        assert_eq!(window.record(true, 1500), None, "too few calls");
        assert_eq!(window.record(true, 2500), Some(Counts { failed: 3, calls: 4 }));
        assert_eq!(window.record(false, 2500), None, "a success ejects nobody");
        window.clear();
        assert_eq!(window.record(true, 2500), None);
    }

    #[test]
    fn what_is_older_than_the_window_does_not_count() {
        let window = window(0.0, 2);
        assert_eq!(window.record(true, 0), None);
        assert_eq!(window.record(true, 9_999), Some(Counts { failed: 2, calls: 2 }));
        // The first bucket is used again, and what it had is gone.
        assert_eq!(window.record(true, 10_000), Some(Counts { failed: 2, calls: 2 }));
        assert_eq!(window.record(true, 60_000), None);
    }

    #[test]
    fn a_full_bucket_keeps_its_rate() {
        let window = window(0.9, 1);
        for call in 0..MOST + 10 {
            window.record(call % 2 == 0, 0);
        }
        assert_eq!(window.record(true, 0), None);
        let (calls, failed) = counts(window.buckets[0].load(Ordering::Relaxed));
        assert_eq!((calls, failed), (MOST, MOST.div_ceil(2)));
    }
}
