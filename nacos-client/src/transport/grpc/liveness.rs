//! When a connection is asked for a sign of life and when it is given up: pure decisions over times.

use std::time::Duration;

use super::settings::Timings;

/// What to do about a connection now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Look again when the connection has this age.
    LookAgain(Duration),
    /// Nothing was heard for a while: send a health check.
    Probe,
    /// A call was not answered within the limit: give the connection up.
    CallOverdue,
}

/// Judges a connection of the age `now`, last heard at the age `heard`, whose oldest unanswered call began at the age `waiting`.
pub(super) fn judge(timings: &Timings, now: Duration, heard: Duration, waiting: Option<Duration>) -> Verdict {
    let overdue = waiting.map(|began| began + timings.call_limit);
    if overdue.is_some_and(|at| now >= at) {
        return Verdict::CallOverdue;
    }
    let probe = heard + timings.health_idle.0;
    if now >= probe {
        return Verdict::Probe;
    }
    Verdict::LookAgain(overdue.map_or(probe, |at| at.min(probe)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn silence_is_probed_after_the_idle_time() {
        let timings = Timings::default();
        assert_eq!(judge(&timings, s(4), s(0), None), Verdict::LookAgain(s(5)));
        assert_eq!(judge(&timings, s(5), s(0), None), Verdict::Probe);
        assert_eq!(judge(&timings, s(9), s(5), None), Verdict::LookAgain(s(10)));
    }

    #[test]
    fn an_unanswered_call_ends_a_connection_that_is_alive_otherwise() {
        let timings = Timings::default();
        assert_eq!(judge(&timings, s(12), s(11), Some(s(3))), Verdict::LookAgain(s(13)));
        assert_eq!(judge(&timings, s(13), s(12), Some(s(3))), Verdict::CallOverdue);
    }
}
