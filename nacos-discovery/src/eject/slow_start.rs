use tokio::time::Instant;

use crate::settings::SlowStart;

/// How far instances are with their slow start at one moment. An instance begins when it joined ([`super::Seat::joined`]);
/// `None` is the beginning of those that were in the first list, and older than any.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ramp<'a> {
    rules: &'a SlowStart,
    oldest: Option<Instant>,
    now: Instant,
}

impl<'a> Ramp<'a> {
    /// Of instances that began then.
    pub(crate) fn new(rules: &'a SlowStart, joined: impl IntoIterator<Item = Option<Instant>>, now: Instant) -> Self {
        // `None` is less than any time.
        let oldest = joined.into_iter().min().flatten();
        Self { rules, oldest, now }
    }

    /// The weight in the tables of one of them. The oldest ones have all of theirs: there is nobody who could take the
    /// requests instead.
    pub(crate) fn weight(&self, weight: f64, joined: Option<Instant>) -> f64 {
        match joined {
            Some(joined) if Some(joined) > self.oldest => {
                weight * self.rules.share(self.now.saturating_duration_since(joined))
            }
            _ => weight,
        }
    }

    /// When weights have to be made anew: `None` once all have all of theirs.
    pub(crate) fn next_step(&self, joined: impl IntoIterator<Item = Option<Instant>>) -> Option<Instant> {
        let ends = joined.into_iter().flatten().filter(|joined| Some(*joined) > self.oldest);
        let first = ends.map(|joined| joined + self.rules.window()).filter(|end| *end > self.now).min()?;
        Some(first.min(self.now + self.rules.step()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn near(weight: f64, expected: f64) {
        assert!((weight - expected).abs() < 1e-9, "{weight} instead of {expected}");
    }

    #[test]
    fn b11_the_weight_rises_in_a_line_from_the_least_share() {
        let begin = Instant::now();
        let rules = SlowStart::new();
        let joined = [None, Some(begin)];
        for (age, share) in [(0, 0.1), (1, 0.1), (3, 0.1), (6, 0.2), (15, 0.5), (27, 0.9), (30, 1.0), (3000, 1.0)] {
            let ramp = Ramp::new(&rules, joined, begin + seconds(age));
            near(ramp.weight(4.0, joined[1]), 4.0 * share);
            near(ramp.weight(4.0, None), 4.0);
        }
        let ramp = |aggression| {
            let rules = SlowStart::new().with_aggression(aggression).with_min_share(0.01);
            Ramp::new(&rules, joined, begin + seconds(15)).weight(1.0, joined[1])
        };
        near(ramp(2.0), 0.5f64.sqrt());
        near(ramp(0.5), 0.25);
        near(ramp(f64::NAN), 0.5);
    }

    #[test]
    fn b11_nobody_is_slow_without_an_older_one() {
        let begin = Instant::now();
        let rules = SlowStart::new();
        let now = begin + seconds(3);
        for joined in [vec![None, None], vec![Some(begin), Some(begin)], vec![Some(begin)], vec![]] {
            let ramp = Ramp::new(&rules, joined.clone(), now);
            joined.iter().for_each(|joined| near(ramp.weight(1.0, *joined), 1.0));
            assert_eq!(ramp.next_step(joined), None);
        }
        // Of two that joined the first one is the older.
        let joined = [Some(begin), Some(begin + seconds(1))];
        let ramp = Ramp::new(&rules, joined, now);
        near(ramp.weight(1.0, joined[0]), 1.0);
        near(ramp.weight(1.0, joined[1]), 0.1);
    }

    #[test]
    fn b11_weights_are_made_anew_until_the_last_has_risen() {
        let begin = Instant::now();
        let rules = SlowStart::new().with_window(seconds(10));
        let joined = [None, Some(begin), Some(begin + seconds(5))];
        let mut now = begin + seconds(5);
        let mut steps = 0;
        let mut shares = vec![];
        while let Some(next) = Ramp::new(&rules, joined, now).next_step(joined) {
            assert!(next > now);
            let ramp = Ramp::new(&rules, joined, next);
            shares.push(ramp.weight(1.0, joined[1]) + ramp.weight(1.0, joined[2]));
            now = next;
            steps += 1;
        }
        assert_eq!(now, begin + seconds(15), "the last step is at the very end");
        assert!(shares.windows(2).all(|pair| pair[1] - pair[0] <= 0.0201), "{shares:?}");
        near(shares[steps - 1], 2.0);
    }
}
