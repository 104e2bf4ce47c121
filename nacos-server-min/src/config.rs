use std::time::Duration;

use crate::push::{PushTiming, UdpTiming};

/// Whose habits the server has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Behaviour {
    /// Prompt and consistent: what compatible clients expect, without the faults.
    #[default]
    Standard,
    /// As slow, stale and odd as a recorded Nacos 2.5.1: changes are merged for half a second, queries and subscriptions are
    /// answered from a view of up to 0.6 s ago, pushes are repeated and overtake each other, a connection may be unknown for
    /// 9 ms after its set-up, and so on. The oddities come from [`Builder::seed`](crate::Builder::seed).
    Nacos25,
}

/// Which persistent instances the server asks whether they are there. Those it does not ask stay as healthy as they were last
/// said to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Probes {
    /// None. Tests register addresses where nobody listens.
    #[default]
    Off,
    /// Those elsewhere: whoever may register must not be able to have this machine and its link looked through.
    Remote,
    /// All, also those at loopback and link-local addresses.
    Everywhere,
}

/// Longer lives of tokens mean nothing, and no sum of times may overflow.
const LONGEST_TOKEN_LIFE: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Times and limits of a server. All have defaults; [`Settings::validate`] is called when the server starts.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// gRPC connections at a time; more are closed as soon as they are accepted. Default 20 000.
    pub max_connections: usize,
    /// HTTP/2 streams at a time on one connection. Default 1 024.
    pub max_streams: u32,
    /// Bidirectional streams at a time on one connection. Default 8.
    pub max_bi_streams: usize,
    /// Largest gRPC message, in bytes. Default 10 MiB.
    pub max_message_size: usize,
    /// Memory that half-received messages of more than 64 KiB may take in the whole server, in bytes. Default 256 MiB.
    pub max_buffered: usize,
    /// Largest set of headers of a gRPC request, in bytes. Default 16 KiB.
    pub max_header_size: u32,
    /// From accepting a connection to its first byte. Default 10 s.
    pub handshake_timeout: Duration,
    /// A gRPC connection without a set-up and without requests is closed after so long, and an HTTP connection on which
    /// nothing moves or no whole request comes. Default 60 s.
    pub unregistered_timeout: Duration,
    /// A registered connection that was silent for so long is probed. Default 20 s.
    pub detection_idle: Duration,
    /// How often silent connections are looked for. Default 3 s.
    pub detection_interval: Duration,
    /// A probe that is not acknowledged within this time ends the registration. Default 5 s.
    pub detection_timeout: Duration,
    /// Without an acknowledgement for so long, a list is pushed again; doubles with each failure. Default 5 s.
    pub push_ack_timeout: Duration,
    /// After a negative acknowledgement, a list is pushed again so much later; doubles with each failure. Default 1 s.
    pub push_retry_delay: Duration,
    /// Longest of the two times above; the connection is closed when that has passed in vain too. Default 30 s.
    pub push_max_delay: Duration,
    /// While a push is unacknowledged, a newer list follows so much later, the next one twice as much, and so on up to
    /// [`Settings::push_ack_timeout`]. Default 50 ms.
    pub push_spacing: Duration,
    /// A connection that has not read for so long, with pushes waiting, is closed. Default 300 s.
    pub stalled_timeout: Duration,
    /// A subscriber by UDP that has not asked for its list for so long is forgotten; clients ask every 10 s. Default 20 s.
    pub udp_subscription_timeout: Duration,
    /// Without an acknowledgement for so long, a datagram is sent once more; after as long again, its receiver is forgotten.
    /// Default 10 s.
    pub udp_ack_timeout: Duration,
    /// Subscriptions by UDP, of all services together; more clients only learn of changes when they ask. Default 100 000.
    pub max_udp_subscriptions: usize,
    /// A service without instances is forgotten after so long. Default 60 s.
    pub empty_service_after: Duration,
    /// How often empty services are looked for. Default 60 s.
    pub clean_interval: Duration,
    /// What an operator said about an instance is forgotten so long after that has gone, to the second. Default 60 s.
    pub instance_metadata_after: Duration,
    /// How often instances that were registered by HTTP are looked at for missing beats. A check that comes a whole interval
    /// late, and a second or more, gives everybody their full time again. Default 5 s.
    pub beat_check_interval: Duration,
    /// Whether instances that do not beat for the time in their metadata, or 30 s, are removed; false leaves them in the lists
    /// as unhealthy. Default true.
    pub expire_instances: bool,
    /// Which persistent instances are asked whether they are there, by TCP or as their cluster's health checker says. Names are
    /// not resolved, so instances that gave one are not asked. Default [`Probes::Off`]; the program's default is `Remote`.
    pub probes: Probes,
    /// Whether protection thresholds of services count; false shows every instance as it is. Default true.
    pub protection: bool,
    /// Longest metadata of an instance, keys and values, in UTF-16 code units. Default 1 024.
    pub max_metadata: usize,
    /// Services one client may publish into, and services it may subscribe to. Default 4 000 000.
    pub max_services_per_client: usize,
    /// Instances of one service. Default 100 000.
    pub max_instances_per_service: usize,
    /// How long a token lives that a user is given. Default 5 h.
    pub token_life: Duration,
    /// How long a shutdown waits for requests under way. Default 2 s.
    pub shutdown_grace: Duration,
    pub(crate) push: PushTiming,
    pub(crate) udp: UdpTiming,
}

impl Default for Settings {
    fn default() -> Self {
        let (push_ack_timeout, push_retry_delay) = (Duration::from_secs(5), Duration::from_secs(1));
        let (push_max_delay, push_spacing) = (Duration::from_secs(30), Duration::from_millis(50));
        let (udp_ack_timeout, udp_subscription_timeout) = (Duration::from_secs(10), Duration::from_secs(20));
        Self {
            max_connections: 20_000,
            max_streams: 1_024,
            max_bi_streams: 8,
            max_message_size: nacos_proto::MAX_MESSAGE_SIZE,
            max_buffered: 256 * 1024 * 1024,
            max_header_size: 16 * 1024,
            handshake_timeout: Duration::from_secs(10),
            unregistered_timeout: Duration::from_secs(60),
            detection_idle: Duration::from_secs(20),
            detection_interval: Duration::from_secs(3),
            detection_timeout: Duration::from_secs(5),
            push_ack_timeout,
            push_retry_delay,
            push_max_delay,
            push_spacing,
            stalled_timeout: Duration::from_secs(300),
            udp_subscription_timeout,
            udp_ack_timeout,
            max_udp_subscriptions: 100_000,
            empty_service_after: Duration::from_secs(60),
            clean_interval: Duration::from_secs(60),
            instance_metadata_after: Duration::from_secs(60),
            beat_check_interval: Duration::from_secs(5),
            expire_instances: true,
            probes: Probes::Off,
            protection: true,
            max_metadata: nacos_proto::param::MAX_METADATA,
            max_services_per_client: 4_000_000,
            max_instances_per_service: 100_000,
            token_life: Duration::from_secs(5 * 3600),
            shutdown_grace: Duration::from_secs(2),
            push: PushTiming {
                ack_timeout: push_ack_timeout,
                retry_delay: push_retry_delay,
                max_delay: push_max_delay,
                spacing: push_spacing,
            },
            udp: UdpTiming { ack_timeout: udp_ack_timeout, keep: udp_subscription_timeout, spacing: push_spacing },
        }
    }
}

/// A setting that cannot work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("setting {name} must be {rule}")]
pub struct SettingsError {
    name: &'static str,
    rule: &'static str,
}

impl SettingsError {
    pub(crate) const fn of(name: &'static str, rule: &'static str) -> Self {
        Self { name, rule }
    }
}

impl Settings {
    /// Checks every value.
    ///
    /// # Errors
    ///
    /// The first value that cannot work, by its name.
    pub fn validate(&self) -> Result<(), SettingsError> {
        let positive: &[(&'static str, bool)] = &[
            ("max_connections", self.max_connections > 0),
            ("max_streams", self.max_streams > 0),
            ("max_bi_streams", self.max_bi_streams > 0),
            ("max_message_size", self.max_message_size > 0),
            ("max_header_size", self.max_header_size > 0),
            ("max_services_per_client", self.max_services_per_client > 0),
            ("max_instances_per_service", self.max_instances_per_service > 0),
        ];
        let times: &[(&'static str, Duration)] = &[
            ("handshake_timeout", self.handshake_timeout),
            ("unregistered_timeout", self.unregistered_timeout),
            ("detection_idle", self.detection_idle),
            ("detection_interval", self.detection_interval),
            ("detection_timeout", self.detection_timeout),
            ("push_ack_timeout", self.push_ack_timeout),
            ("push_retry_delay", self.push_retry_delay),
            ("stalled_timeout", self.stalled_timeout),
            ("udp_subscription_timeout", self.udp_subscription_timeout),
            ("udp_ack_timeout", self.udp_ack_timeout),
            ("clean_interval", self.clean_interval),
            ("beat_check_interval", self.beat_check_interval),
            ("token_life", self.token_life),
        ];
        if let Some((name, _)) = positive.iter().find(|(_, ok)| !ok) {
            return Err(SettingsError { name, rule: "above 0" });
        }
        if let Some((name, _)) = times.iter().find(|(_, time)| *time < Duration::from_millis(1)) {
            return Err(SettingsError { name, rule: "a millisecond or more" });
        }
        if self.token_life > LONGEST_TOKEN_LIFE {
            return Err(SettingsError { name: "token_life", rule: "ten years or less" });
        }
        if self.push_max_delay < self.push_ack_timeout.max(self.push_retry_delay) {
            let rule = "as long as push_ack_timeout and push_retry_delay, or longer";
            return Err(SettingsError { name: "push_max_delay", rule });
        }
        Ok(())
    }

    /// Copies the push times into the form the push engine takes.
    pub(crate) fn prepared(mut self) -> Self {
        self.push = PushTiming {
            ack_timeout: self.push_ack_timeout,
            retry_delay: self.push_retry_delay,
            max_delay: self.push_max_delay,
            spacing: self.push_spacing,
        };
        self.udp = UdpTiming {
            ack_timeout: self.udp_ack_timeout,
            keep: self.udp_subscription_timeout,
            spacing: self.push_spacing,
        };
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid() {
        assert_eq!(Settings::default().validate(), Ok(()));
    }

    #[test]
    fn a_setting_that_cannot_work_is_named() {
        let settings = Settings { detection_interval: Duration::ZERO, ..Settings::default() };
        let error = settings.validate().expect_err("no interval");
        assert_eq!(error.to_string(), "setting detection_interval must be a millisecond or more");
        let settings = Settings { push_max_delay: Duration::from_secs(2), ..Settings::default() };
        assert!(settings.validate().is_err());
        let settings = Settings { max_connections: 0, ..Settings::default() };
        assert!(settings.validate().is_err());
    }
}
