use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The dice behind [`Behaviour::Nacos25`](crate::Behaviour::Nacos25): how late, stale and odd the recorded server was, from a
/// seed, so that a failing test can be run again.
#[derive(Debug)]
pub(crate) struct Oddities {
    rng: Mutex<fastrand::Rng>,
}

impl Oddities {
    pub(crate) fn new(seed: u64) -> Self {
        Self { rng: Mutex::new(fastrand::Rng::with_seed(seed)) }
    }

    fn roll<T>(&self, roll: impl FnOnce(&mut fastrand::Rng) -> T) -> T {
        roll(&mut self.rng.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn one_in(&self, n: u32) -> bool {
        self.roll(|rng| rng.u32(0..n)) == 0
    }

    /// From the first change of a service to its push: the delay and the tick of the engine that ends it.
    pub(crate) fn merge_delay(&self) -> Duration {
        Duration::from_millis(self.roll(|rng| rng.u64(500..=600)))
    }

    /// From a set-up to the moment the connection is known. Two in nine were seen late, by up to 9 ms.
    pub(crate) fn registration_lag(&self) -> Option<Duration> {
        (self.roll(|rng| rng.u32(0..9)) < 2).then(|| Duration::from_millis(self.roll(|rng| rng.u64(1..=9))))
    }

    /// The first query of a new service finds the index not yet filled, and keeps the empty list.
    pub(crate) fn first_query_misses(&self) -> bool {
        self.one_in(80)
    }

    /// A push is sent twice, the second time so much later.
    pub(crate) fn repeat_after(&self) -> Option<Duration> {
        self.one_in(12).then(|| Duration::from_millis(self.roll(|rng| rng.u64(0..=200))))
    }

    /// A push is overtaken: the list of now leaves so much later.
    pub(crate) fn overtaken_by(&self) -> Option<Duration> {
        self.one_in(12).then(|| Duration::from_millis(self.roll(|rng| rng.u64(50..=900))))
    }

    /// A silent client's acknowledged probe does not save it.
    pub(crate) fn probe_in_vain(&self) -> bool {
        self.one_in(3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_oddities() {
        let rolls = |seed| {
            let odd = Oddities::new(seed);
            (0..50)
                .map(|_| (odd.merge_delay(), odd.registration_lag(), odd.first_query_misses(), odd.repeat_after()))
                .collect::<Vec<_>>()
        };
        assert_eq!(rolls(7), rolls(7));
        assert_ne!(rolls(7), rolls(8));
        assert!(
            rolls(7).iter().all(|(delay, lag, ..)| (500..=600).contains(&delay.as_millis())
                && lag.is_none_or(|lag| lag.as_millis() <= 9))
        );
    }
}
