use std::sync::Arc;
use std::time::Duration;

use crate::registry::{BeatTimes, Client, KeyRef, Service};

/// Key of an instance's or a service's metadata that exempts from the check.
const EXEMPT: &str = "enableClientBeat";

/// What is known of the life of one address in one service.
#[derive(Debug)]
pub(super) struct Pulse {
    pub(super) service: Arc<Service>,
    pub(super) ip: Box<str>,
    pub(super) port: u16,
    pub(super) state: PulseState,
}

#[derive(Debug)]
pub(super) enum PulseState {
    Beating(Beating),
    /// Deregistered: a beat that was under way then is nothing any more.
    Buried {
        until: Duration,
    },
}

#[derive(Debug)]
pub(super) struct Beating {
    /// The client that publishes the instance.
    pub(super) client: Arc<Client>,
    pub(super) last: Duration,
    /// As of the last registration, beat or check.
    pub(super) healthy: bool,
    /// The interval that the metadata set, in milliseconds, as of the last registration or check.
    pub(super) interval: Option<i64>,
}

impl Pulse {
    pub(super) fn is(&self, key: KeyRef<'_>, ip: &str, port: u16) -> bool {
        self.port == port && *self.ip == *ip && self.service.key() == key
    }
}

/// What the check makes of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Alive,
    Unhealthy,
    Gone,
}

/// Silence of exactly the time allowed is still allowed.
pub(super) fn judge(silence: Duration, times: BeatTimes, healthy: bool, removes: bool) -> Verdict {
    let longer_than = |ms: i64| silence > Duration::from_millis(u64::try_from(ms).unwrap_or(0));
    if removes && longer_than(times.removal) {
        Verdict::Gone
    } else if healthy && longer_than(times.timeout) {
        Verdict::Unhealthy
    } else {
        Verdict::Alive
    }
}

/// A time of nothing would make an instance flap from one check to the next.
pub(super) fn sane(times: BeatTimes) -> BeatTimes {
    let sane = |time: i64, default| if time > 0 { time } else { default };
    BeatTimes {
        interval: sane(times.interval, BeatTimes::DEFAULT.interval),
        timeout: sane(times.timeout, BeatTimes::DEFAULT.timeout),
        removal: sane(times.removal, BeatTimes::DEFAULT.removal),
    }
}

/// Whether metadata say that nobody is to look.
pub(super) fn exempts<'a>(get: impl FnOnce(&str) -> Option<&'a str>) -> bool {
    let value = get(EXEMPT).map(|value| value.trim().to_ascii_lowercase());
    value.is_some_and(|value| matches!(value.as_str(), "true" | "on" | "yes" | "y" | "t"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_itself_is_not_beyond_it() {
        let after = |ms, healthy| judge(Duration::from_millis(ms), BeatTimes::DEFAULT, healthy, true);
        assert_eq!(
            [after(0, true), after(15_000, true), after(15_001, true)],
            [Verdict::Alive, Verdict::Alive, Verdict::Unhealthy]
        );
        assert_eq!(
            [after(30_000, false), after(30_001, false), after(30_001, true)],
            [Verdict::Alive, Verdict::Gone, Verdict::Gone]
        );
        let kept = judge(Duration::from_secs(99), BeatTimes::DEFAULT, true, false);
        assert_eq!(kept, Verdict::Unhealthy, "where nothing is removed");
    }

    #[test]
    fn h05_times_that_make_no_sense_are_the_defaults() {
        let odd = BeatTimes { interval: 0, timeout: -1, removal: i64::MAX };
        assert_eq!(sane(odd), BeatTimes { removal: i64::MAX, ..BeatTimes::DEFAULT });
        assert_eq!(judge(Duration::MAX, sane(odd), false, true), Verdict::Gone);
        assert_eq!(judge(Duration::from_secs(1 << 40), sane(odd), false, true), Verdict::Alive);
    }

    #[test]
    fn a_word_in_the_metadata_exempts() {
        for (value, exempt) in [(Some("true"), true), (Some(" Yes "), true), (Some("1"), false), (None, false)] {
            assert_eq!(exempts(|key| value.filter(|_| key == "enableClientBeat")), exempt, "{value:?}");
        }
    }
}
