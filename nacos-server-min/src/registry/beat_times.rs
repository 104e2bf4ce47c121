use super::instance::Instance;

pub(super) const BEAT_INTERVAL: &str = "preserved.heart.beat.interval";
const BEAT_TIMEOUT: &str = "preserved.heart.beat.timeout";
pub(super) const DELETE_TIMEOUT: &str = "preserved.ip.delete.timeout";

/// How often an instance is to say that it lives, and how long it may be silent: what its metadata say, else 5, 15 and 30 s. In
/// milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BeatTimes {
    pub(crate) interval: i64,
    /// Silent for longer, it is unhealthy.
    pub(crate) timeout: i64,
    /// Silent for longer, it is removed.
    pub(crate) removal: i64,
}

impl BeatTimes {
    pub(crate) const DEFAULT: Self = Self { interval: 5_000, timeout: 15_000, removal: 30_000 };

    /// Only plain digits count; everything else leaves the default.
    pub(crate) fn of(instance: &Instance) -> Self {
        let time = |key, default| instance.metadata(key).and_then(digits).unwrap_or(default);
        Self {
            interval: time(BEAT_INTERVAL, Self::DEFAULT.interval),
            timeout: time(BEAT_TIMEOUT, Self::DEFAULT.timeout),
            removal: time(DELETE_TIMEOUT, Self::DEFAULT.removal),
        }
    }

    /// As [`BeatTimes::of`], but a text that is no number is a time-out of nothing, as recorded.
    pub(crate) fn as_recorded(instance: &Instance) -> Self {
        let time = |key, default| instance.metadata(key).map_or(default, |text| digits(text).unwrap_or(0));
        Self {
            timeout: time(BEAT_TIMEOUT, Self::DEFAULT.timeout),
            removal: time(DELETE_TIMEOUT, Self::DEFAULT.removal),
            ..Self::of(instance)
        }
    }

    /// The interval that the metadata set, if they do.
    pub(crate) fn own_interval(instance: &Instance) -> Option<i64> {
        instance.metadata(BEAT_INTERVAL).and_then(digits).filter(|interval| *interval > 0)
    }
}

fn digits(text: &str) -> Option<i64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
