use std::time::Duration;

/// How long to wait before an attempt: any time up to a ceiling that doubles with each repetition ("full jitter"), so that
/// callers that failed together do not come back together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Backoff {
    /// The ceiling of the first repetition.
    pub(super) first: Duration,
    /// What the ceiling does not exceed.
    pub(super) cap: Duration,
}

impl Backoff {
    /// Before repetition `repetition`, which is 1 for the first. `random` is uniform over all values.
    pub(super) fn pause(&self, repetition: u32, random: u64) -> Duration {
        let doublings = repetition.saturating_sub(1).min(31);
        let ceiling = self.first.saturating_mul(1 << doublings).min(self.cap);
        let nanos = u64::try_from(ceiling.as_nanos()).unwrap_or(u64::MAX);
        // The upper half of the product is uniform from 0 up to, but not including, `nanos`.
        Duration::from_nanos(((u128::from(nanos) * u128::from(random)) >> 64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn backoff() -> Backoff {
        Backoff { first: MS(25), cap: MS(250) }
    }

    #[test]
    fn the_ceiling_doubles_up_to_the_cap() {
        let nearly = |repetition| backoff().pause(repetition, u64::MAX).as_nanos().div_ceil(1_000_000);
        assert_eq!([1, 2, 3, 4, 5, 6].map(nearly), [25, 50, 100, 200, 250, 250]);
        assert_eq!(nearly(u32::MAX), 250);
        assert_eq!(backoff().pause(1, u64::MAX / 2).as_nanos().div_ceil(1_000), 12_500);
    }

    #[test]
    fn it_may_be_nothing() {
        assert_eq!(backoff().pause(3, 0), Duration::ZERO);
        let none = Backoff { first: Duration::ZERO, cap: Duration::ZERO };
        assert_eq!(none.pause(1, u64::MAX), Duration::ZERO);
    }

    proptest! {
        #[test]
        fn it_never_exceeds_the_cap(first in 0..u64::MAX, cap in 0..u64::MAX, repetition: u32, random: u64) {
            let backoff = Backoff { first: MS(first), cap: MS(cap) };
            prop_assert!(backoff.pause(repetition, random) <= backoff.cap);
        }
    }
}
