use std::time::Duration;

use super::FailureRate;

const CONSECUTIVE_FAILURES: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const RELAX_AFTER: Duration = Duration::from_secs(30);
const MAX_SHARE: f64 = 0.5;
const PROBE_LIMIT: Duration = Duration::from_secs(60);

/// When an instance that fails is taken out of the choice, and for how long.
///
/// An ejected instance gets no request until its pause has ended, then a single one. If that succeeds, the instance is
/// back; if it fails, the pause doubles. What linkerd calls failure accrual, and Envoy outlier detection.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EjectSettings {
    consecutive_failures: u32,
    failure_rate: Option<FailureRate>,
    first_pause: Duration,
    longest_pause: Duration,
    relax_after: Duration,
    max_share: f64,
    probe_limit: Duration,
}

impl Default for EjectSettings {
    fn default() -> Self {
        Self {
            consecutive_failures: CONSECUTIVE_FAILURES,
            failure_rate: None,
            first_pause: FIRST_PAUSE,
            longest_pause: LONGEST_PAUSE,
            relax_after: RELAX_AFTER,
            max_share: MAX_SHARE,
            probe_limit: PROBE_LIMIT,
        }
    }
}

impl EjectSettings {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many failures without a success between them eject, default 5, at least 1. Calls that were refused as too many
    /// (429) are none, and neither end such a sequence.
    #[must_use]
    pub const fn with_consecutive_failures(mut self, failures: u32) -> Self {
        self.consecutive_failures = if failures == 0 { 1 } else { failures };
        self
    }

    /// Ejects by the share of failed calls as well. Default `None`: errors that lie in the requests would eject every
    /// instance alike, so the right share depends on the service.
    #[must_use]
    pub const fn with_failure_rate(mut self, rate: Option<FailureRate>) -> Self {
        self.failure_rate = rate;
        self
    }

    /// How long the first ejection lasts, default 1 s, and the longest one, default 60 s. The first one varies by 10 % so
    /// that many processes do not probe at once; each that follows is at least twice as long as the one before. Limited to
    /// 1 ms … 1 day; a `longest` below `first` stands for `first`.
    #[must_use]
    pub fn with_pause(mut self, first: Duration, longest: Duration) -> Self {
        let day = Duration::from_secs(86_400);
        self.first_pause = first.clamp(Duration::from_millis(1), day);
        self.longest_pause = longest.clamp(self.first_pause, day);
        self
    }

    /// After how long without an ejection one doubling of the pause is forgiven, and one more after every such time,
    /// default 30 s, at least 1 ms.
    #[must_use]
    pub fn with_relaxation(mut self, after: Duration) -> Self {
        self.relax_after = after.max(Duration::from_millis(1));
        self
    }

    /// The greatest share of the usable instances of a service that is ejected at a time, default 0.5, rounded down, limited
    /// to 0 … 1; what is no number stands for 0. The last usable instance is never ejected.
    #[must_use]
    pub fn with_max_share(mut self, share: f64) -> Self {
        self.max_share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        self
    }

    /// How long an ejected instance may take to answer the request that probes it, default 60 s, limited to 1 ms … 1 day. After
    /// that the probe counts as failed, although the request itself goes on: otherwise an instance that answers nobody
    /// would stay ejected for ever where the client has no time limit.
    #[must_use]
    pub fn with_probe_limit(mut self, limit: Duration) -> Self {
        self.probe_limit = limit.clamp(Duration::from_millis(1), Duration::from_secs(86_400));
        self
    }

    pub(crate) const fn probe_limit(&self) -> Duration {
        self.probe_limit
    }

    pub(crate) const fn consecutive_failures(&self) -> u32 {
        self.consecutive_failures
    }

    pub(crate) const fn failure_rate(&self) -> Option<&FailureRate> {
        self.failure_rate.as_ref()
    }

    pub(crate) const fn first_pause(&self) -> Duration {
        self.first_pause
    }

    pub(crate) const fn longest_pause(&self) -> Duration {
        self.longest_pause
    }

    pub(crate) const fn relax_after(&self) -> Duration {
        self.relax_after
    }

    /// How many of `usable` instances may be ejected at a time.
    pub(crate) fn most_of(&self, usable: usize) -> usize {
        let share = (self.max_share * usable as f64) as usize;
        share.min(usable.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sc16_the_share_is_rounded_down_and_leaves_one() {
        let most = |share: f64, usable| EjectSettings::new().with_max_share(share).most_of(usable);
        let half: Vec<_> = (0..=5).map(|usable| most(0.5, usable)).collect();
        assert_eq!(half, [0, 0, 1, 1, 2, 2]);
        assert_eq!((most(1.0, 1), most(1.0, 4), most(7.0, 4), most(0.1, 9), most(0.1, 10)), (0, 3, 3, 0, 1));
        assert_eq!((most(f64::NAN, 100), most(-1.0, 100)), (0, 0));
    }

    #[test]
    fn what_makes_no_sense_is_limited() {
        let settings = EjectSettings::new()
            .with_consecutive_failures(0)
            .with_pause(Duration::ZERO, Duration::ZERO)
            .with_relaxation(Duration::ZERO);
        assert_eq!(settings.consecutive_failures(), 1);
        let least = Duration::from_millis(1);
        assert_eq!((settings.first_pause(), settings.longest_pause(), settings.relax_after()), (least, least, least));
        assert!(!FailureRate::new(f64::NAN).is_exceeded(100, 100));
        assert!(FailureRate::new(0.5).with_minimum(0).is_exceeded(1, 1));
        assert!(!FailureRate::new(0.5).is_exceeded(19, 19) && FailureRate::new(0.5).is_exceeded(11, 20));
    }
}
