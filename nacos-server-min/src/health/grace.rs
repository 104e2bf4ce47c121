use std::time::Duration;

/// Being late by less is nothing, however short the interval.
const TOLERANCE: Duration = Duration::from_secs(1);

/// Notices that whoever looks was held up: by a paused process, a suspended machine, or an operator who had switched the check off.
/// Nobody could be heard meanwhile, so silence counts from its end.
#[derive(Debug)]
pub(super) struct Grace {
    /// Between two looks.
    interval: Duration,
    last_look: Duration,
    /// Silence before this does not count.
    since: Duration,
}

impl Grace {
    pub(super) fn new(interval: Duration) -> Self {
        Self { interval, last_look: Duration::ZERO, since: Duration::ZERO }
    }

    /// At each look. Returns since when silence counts, and by how much the look is too late, if it is.
    pub(super) fn look(&mut self, now: Duration) -> (Duration, Option<Duration>) {
        let gap = now.saturating_sub(self.last_look);
        self.last_look = now;
        let late = gap > self.interval + TOLERANCE;
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
    fn only_a_look_that_is_late_by_more_than_a_second_begins_a_grace() {
        let at = Duration::from_millis;
        let mut grace = Grace::new(at(1_000));
        assert_eq!(grace.look(at(1_000)), (at(0), None));
        assert_eq!(grace.look(at(3_000)), (at(0), None));
        assert_eq!(grace.look(at(5_001)), (at(5_001), Some(at(1_001))));
        assert_eq!(grace.look(at(6_000)), (at(5_001), None));
        let mut quick = Grace::new(at(20));
        assert_eq!((quick.look(at(1_020)), quick.look(at(2_041))), ((at(0), None), (at(2_041), Some(at(1_001)))));
    }
}
