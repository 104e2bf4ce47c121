use std::time::Duration;

/// Being late by less is nothing, however short the interval.
const TOLERANCE: Duration = Duration::from_secs(1);

/// Notices that the check itself was held up: by a paused process, a suspended machine, or an operator who had switched it off.
/// Nobody could be heard meanwhile, so silence counts from its end.
#[derive(Debug)]
pub(super) struct Grace {
    interval: Duration,
    last_check: Duration,
    /// Silence before this does not count.
    since: Duration,
}

impl Grace {
    pub(super) fn new(interval: Duration) -> Self {
        Self { interval, last_check: Duration::ZERO, since: Duration::ZERO }
    }

    /// Before each check. Returns since when silence counts, and by how much the check is too late, if it is.
    pub(super) fn check(&mut self, now: Duration) -> (Duration, Option<Duration>) {
        let gap = now.saturating_sub(self.last_check);
        self.last_check = now;
        let late = gap > self.interval + self.interval.max(TOLERANCE);
        if late {
            self.since = now;
        }
        (self.since, late.then(|| gap - self.interval))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_check_that_is_a_whole_interval_late_begins_a_grace() {
        let at = Duration::from_millis;
        let mut grace = Grace::new(at(5_000));
        assert_eq!(grace.check(at(5_000)), (at(0), None));
        assert_eq!(grace.check(at(15_000)), (at(0), None));
        assert_eq!(grace.check(at(25_001)), (at(25_001), Some(at(5_001))));
        assert_eq!(grace.check(at(30_000)), (at(25_001), None));
        let mut quick = Grace::new(at(20));
        assert_eq!((quick.check(at(1_020)), quick.check(at(2_041))), ((at(0), None), (at(2_041), Some(at(1_001)))));
    }
}
