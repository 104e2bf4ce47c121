use std::time::Duration;

use crate::settings::EjectSettings;

/// How long an instance was ejected last, and how often before without a longer time of health between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Pause {
    /// Ejections before this one that count. Not how many there were: time of health takes them back.
    pub(crate) relapses: u32,
    /// Zero before the first ejection.
    pub(crate) length: Duration,
}

impl Pause {
    /// The pause of the next ejection. `random` is uniform from 0 up to 1.
    pub(super) fn next(self, rules: &EjectSettings, random: f64) -> Self {
        if self.length.is_zero() {
            let varied = rules.first_pause().mul_f64(0.9 + 0.2 * random);
            return Self { relapses: 0, length: varied.min(rules.longest_pause()) };
        }
        let length = self.length.saturating_mul(2).min(rules.longest_pause());
        Self { relapses: self.relapses.saturating_add(1), length }
    }

    /// What is left of it after a time of health: every full period halves it.
    pub(super) fn relaxed(self, healthy: Duration, rules: &EjectSettings) -> Self {
        let periods = healthy.as_nanos() / rules.relax_after().as_nanos().max(1);
        if periods > u128::from(self.relapses) {
            return Self::default();
        }
        // At most `relapses`, which a cap of a day over a millisecond keeps far below 32 steps that change anything.
        let periods = periods as u32;
        // Where the longest pause kept it from doubling, there were more relapses than doublings.
        let least = rules.first_pause().mul_f64(0.9).min(self.length);
        let length = (self.length / 2u32.saturating_pow(periods)).max(least);
        Self { relapses: self.relapses - periods, length }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sc16_each_pause_is_at_least_twice_the_one_before_up_to_the_longest() {
        let rules = EjectSettings::new();
        let mut pause = Pause::default().next(&rules, 1.0);
        assert_eq!(pause.length, Duration::from_millis(1100));
        for relapses in 1..10 {
            let next = pause.next(&rules, 0.0);
            assert!(next.length >= (pause.length * 2).min(Duration::from_secs(60)));
            assert_eq!(next.relapses, relapses);
            pause = next;
        }
        assert_eq!(pause.length, Duration::from_secs(60));
        assert_eq!(Pause::default().next(&rules, 0.0).length, Duration::from_millis(900));
    }

    #[test]
    fn time_of_health_is_forgiving() {
        let rules = EjectSettings::new().with_relaxation(Duration::from_secs(30));
        let pause = Pause { relapses: 3, length: Duration::from_secs(8) };
        let after = |seconds| {
            let left = pause.relaxed(Duration::from_secs(seconds), &rules);
            (left.relapses, left.length.as_secs())
        };
        assert_eq!([after(0), after(29), after(30), after(60)], [(3, 8), (3, 8), (2, 4), (1, 2)]);
        assert_eq!(pause.relaxed(Duration::from_secs(120), &rules), Pause::default());
        assert_eq!(pause.relaxed(Duration::MAX, &rules), Pause::default());
    }

    #[test]
    fn sc16_no_pause_is_shorter_than_the_first_one_however_many_relapses_are_forgiven() {
        let rules = EjectSettings::new();
        let pause = (0..30).fold(Pause::default(), |pause, _| pause.next(&rules, 0.5));
        assert_eq!(pause, Pause { relapses: 29, length: Duration::from_secs(60) });
        for periods in 0..=29 {
            let next = pause.relaxed(rules.relax_after() * periods, &rules).next(&rules, 0.5);
            assert!(next.length >= rules.first_pause(), "{next:?} after {periods} periods of health");
        }
    }

    proptest! {
        #[test]
        fn a_pause_lies_within_its_bounds(first in 0u64..10_000, longest in 0u64..100_000, steps in proptest::collection::vec((0.0..1.0f64, 0u64..400), 1..50)) {
            let rules = EjectSettings::new().with_pause(Duration::from_millis(first), Duration::from_millis(longest));
            let mut pause = Pause::default();
            for (random, healthy) in steps {
                pause = pause.relaxed(Duration::from_secs(healthy), &rules).next(&rules, random);
                prop_assert!(pause.length >= rules.first_pause().mul_f64(0.89), "{pause:?}");
                prop_assert!(pause.length <= rules.longest_pause(), "{pause:?}");
            }
        }
    }
}
