use std::time::Duration;

use nacos_client::Protocol;

/// The registry's own times.
const INTERVAL: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(15);
const DELETE: Duration = Duration::from_secs(30);

/// Heart-beat settings, published as metadata for registries that count beats (Nacos 1.x over HTTP). A connection over
/// gRPC needs none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HeartBeat {
    /// Time between two beats; `heart-beat-interval`, the registry's default is 5 s.
    pub interval: Option<Duration>,
    /// Silence after which the instance is unhealthy; `heart-beat-timeout`, the registry's default is 15 s.
    pub timeout: Option<Duration>,
    /// Silence after which it is removed; `ip-delete-timeout`, the registry's default is 30 s.
    pub delete: Option<Duration>,
}

impl HeartBeat {
    /// If the interval alone is given, the time-out is 3 and the removal 6 intervals: the registry's defaults would expire
    /// an instance with a longer interval between two of its beats.
    pub(crate) fn new(interval: Option<Duration>, timeout: Option<Duration>, delete: Option<Duration>) -> Self {
        match (interval, timeout, delete) {
            (Some(beat), None, None) => {
                Self { interval, timeout: Some(beat.saturating_mul(3)), delete: Some(beat.saturating_mul(6)) }
            }
            _ => Self { interval, timeout, delete },
        }
    }

    /// Whether any of the three is set.
    #[must_use]
    pub const fn is_set(&self) -> bool {
        self.interval.is_some() || self.timeout.is_some() || self.delete.is_some()
    }

    /// A word about settings that mean nothing to the protocol spoken: over gRPC the connection itself is the beat.
    pub(crate) fn idle_over(&self, protocol: Protocol) -> Option<&'static str> {
        let idle = self.is_set() && protocol == Protocol::Grpc;
        idle.then_some("heart-beat-interval, heart-beat-timeout and ip-delete-timeout have no effect over gRPC")
    }

    /// A word about settings that leave too little time for a beat to come late.
    pub(crate) fn hurried(&self) -> Option<String> {
        let interval = self.interval.unwrap_or(INTERVAL);
        let timeout = self.timeout.unwrap_or(TIMEOUT);
        let delete = self.delete.unwrap_or(DELETE);
        let hurried = timeout < interval.saturating_mul(3) || delete < interval.saturating_mul(6);
        (self.is_set() && hurried).then(|| {
            format!(
                "with a heart beat every {interval:?}, unhealthy after {timeout:?} and removed after {delete:?}, a late beat \
                 costs traffic: at least 3 and 6 intervals are advisable"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Option<Duration> {
        Some(Duration::from_secs(seconds))
    }

    #[test]
    fn an_interval_alone_brings_the_others_along() {
        let heart_beat = HeartBeat::new(seconds(10), None, None);
        assert_eq!((heart_beat.timeout, heart_beat.delete), (seconds(30), seconds(60)));
        assert_eq!(heart_beat.hurried(), None);
        assert_eq!(HeartBeat::new(None, seconds(20), None), HeartBeat { timeout: seconds(20), ..HeartBeat::default() });
    }

    #[test]
    fn over_grpc_the_settings_are_told_to_have_no_effect() {
        let set = HeartBeat::new(seconds(10), None, None);
        assert!(set.idle_over(Protocol::Grpc).is_some());
        assert_eq!(set.idle_over(Protocol::Http), None);
        assert_eq!(HeartBeat::default().idle_over(Protocol::Grpc), None);
    }

    #[test]
    fn a_smaller_ratio_is_told() {
        for (interval, timeout, delete, told) in [
            (None, None, None, false),
            (seconds(5), seconds(15), seconds(30), false),
            (seconds(5), seconds(14), seconds(30), true),
            (seconds(5), seconds(15), seconds(29), true),
            (seconds(10), seconds(30), None, true),
            (None, seconds(10), None, true),
            (None, None, seconds(20), true),
            (Some(Duration::MAX), seconds(1), seconds(1), true),
        ] {
            assert_eq!(HeartBeat::new(interval, timeout, delete).hurried().is_some(), told, "{interval:?} {timeout:?}");
        }
    }
}
