use std::sync::atomic::{AtomicU64, Ordering};

use super::pace::{Pace, known, passed};

/// No latency is taken for shorter, so that it stays above 0: in seconds.
const SHORTEST: f32 = 1e-9;
/// None is taken for longer: in seconds.
const LONGEST: f32 = 3600.0;

/// How long an instance takes to answer: the peak-sensitive moving average of Finagle and tower, without a lock.
///
/// A slower sample replaces the estimate at once; a faster one pulls it down, the more the longer the last sample lies back.
/// Without samples, what is *read* moves towards what is usual in the service, so that an instance that was slow once is
/// tried again. Reading changes nothing: the next sample still counts for all of the time since the last one.
#[derive(Debug, Default)]
pub(super) struct Estimate {
    /// When the last sample came, in the pace's milliseconds, in the upper half; seconds (an `f32`, 0 = unknown) in the
    /// lower. One word, so that they change together.
    word: AtomicU64,
}

impl Estimate {
    /// Takes this for the estimate.
    pub(super) fn set(&self, latency: f32, tick: u32) {
        self.word.store(word(latency, tick), Ordering::Relaxed);
    }

    /// Nothing is known any more.
    pub(super) fn forget(&self) {
        self.word.store(0, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn observe(&self, sample: f32, tick: u32, pace: &Pace) {
        let next = |before: u64| {
            let then = (before >> 32) as u32;
            match known(before) {
                // Within a millisecond it pulls by nothing, and threads need not fight for the word. Time does not go back
                // for a sample that comes late.
                Some(estimate) if sample < estimate => match passed(then, tick) {
                    0 => None,
                    passed => {
                        let pulled = sample + (estimate - sample) * pace.kept(passed);
                        Some(word(pulled, then.wrapping_add(passed)))
                    }
                },
                _ => Some(word(sample, tick)),
            }
        };
        // `Err` where nothing is to be stored.
        let _ = self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }

    /// What it is taken for when a call of the service ended last.
    pub(super) fn read(&self, pace: &Pace) -> Option<f32> {
        let word = self.word.load(Ordering::Relaxed);
        let (tick, usual) = pace.read();
        match (known(word), usual) {
            (Some(estimate), Some(usual)) => {
                let idle = passed((word >> 32) as u32, tick);
                Some(if idle == 0 { estimate } else { usual + (estimate - usual) * pace.kept(idle) })
            }
            (estimate, usual) => estimate.or(usual),
        }
    }
}

fn word(latency: f32, tick: u32) -> u64 {
    u64::from(tick) << 32 | u64::from(latency.clamp(SHORTEST, LONGEST).to_bits())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::Instant;

    fn pace() -> Pace {
        Pace::new(Instant::now(), Duration::from_secs(10), Duration::from_secs(1))
    }

    fn near(estimate: &Estimate, pace: &Pace, expected: f32) {
        let read = estimate.read(pace).unwrap();
        assert!((read / expected - 1.0).abs() < 0.01, "{read} instead of {expected}");
    }

    #[test]
    fn a_slower_sample_counts_at_once_and_faster_ones_by_the_time_that_passed() {
        let (pace, estimate) = (pace(), Estimate::default());
        assert_eq!(estimate.read(&pace), None);
        estimate.observe(0.01, 0, &pace);
        near(&estimate, &pace, 0.01);
        estimate.observe(0.5, 1, &pace);
        near(&estimate, &pace, 0.5);
        estimate.observe(0.01, 2, &pace);
        near(&estimate, &pace, 0.5);
        estimate.observe(0.01, 10_002, &pace);
        near(&estimate, &pace, 0.01 + 0.49 / std::f32::consts::E);
        estimate.forget();
        assert_eq!(estimate.read(&pace), None);
    }

    #[test]
    fn many_small_steps_come_to_the_same_as_one_great_step() {
        let (pace, often, once) = (pace(), Estimate::default(), Estimate::default());
        often.set(1.0, 0);
        once.set(1.0, 0);
        for tick in 1..=10_000 {
            often.observe(0.01, tick, &pace);
        }
        once.observe(0.01, 10_000, &pace);
        near(&often, &pace, once.read(&pace).unwrap());
    }

    #[test]
    fn sc17_without_traffic_an_estimate_moves_to_what_is_usual_and_reading_swallows_no_sample() {
        let (pace, estimate) = (pace(), Estimate::default());
        estimate.set(1.0, 0);
        for tick in 1..=10_000 {
            pace.advance(tick, Some(0.01));
            assert!(estimate.read(&pace).is_some());
        }
        near(&estimate, &pace, 0.01 + 0.99 / std::f32::consts::E);
        // A sample counts for all of the ten seconds, though it was read ten thousand times meanwhile.
        estimate.observe(0.02, 10_000, &pace);
        near(&estimate, &pace, 0.02 + 0.98 / std::f32::consts::E);
        pace.advance(100_000, Some(0.01));
        near(&estimate, &pace, 0.01);
    }

    #[test]
    fn odd_times_and_latencies_do_no_harm() {
        let (pace, estimate) = (pace(), Estimate::default());
        estimate.observe(0.0, u32::MAX, &pace);
        assert!(estimate.read(&pace).unwrap() > 0.0);
        estimate.observe(f32::INFINITY, 5, &pace);
        assert!(estimate.read(&pace).unwrap() <= LONGEST);
        // A sample from before the last one: no time has passed.
        estimate.observe(0.1, 2, &pace);
        near(&estimate, &pace, LONGEST);
        estimate.observe(f32::NAN, 6, &pace);
        estimate.observe(0.1, 7, &pace);
        assert!(estimate.read(&pace).is_some_and(f32::is_finite));
    }

    #[test]
    fn the_usual_latency_is_that_of_the_service() {
        let pace = pace();
        assert_eq!(pace.read(), (0, None));
        pace.advance(0, Some(0.1));
        assert_eq!(pace.read(), (0, Some(0.1)));
        pace.advance(0, Some(9.0));
        assert_eq!(pace.read(), (0, Some(0.1)), "one per millisecond");
        pace.advance(10_000, None);
        assert_eq!(pace.read(), (10_000, Some(0.1)));
        pace.advance(20_000, Some(0.2));
        let usual = pace.read().1.unwrap();
        assert!((usual - (0.2 - 0.1 / std::f32::consts::E)).abs() < 1e-3, "{usual}");
    }
}
