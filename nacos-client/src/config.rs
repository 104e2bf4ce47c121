//! All settings of a client: one struct, validated once, when it is built.
//!
//! A value comes from the code that names it, else from the environment if [`ClientConfigBuilder::from_env`] was
//! called, else it is the default. No file is read, and the environment is never changed.

mod builder;
mod environment;
mod protocol;
mod udp_push;

use std::collections::BTreeMap;
use std::time::Duration;

pub use builder::ClientConfigBuilder;
pub use protocol::Protocol;
pub use udp_push::{PushSenders, UdpPush};

use crate::auth::CredentialsSource;
use crate::model::Namespace;
use crate::servers::{ContextPath, ServerList};

/// Time limits of single steps. All must be above zero and at most an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// How long a call may wait for its result, waiting for a connection included; default 3 s.
    pub request: Duration,
    /// TCP connection, and HTTP/2 handshake over gRPC; default 1.5 s.
    pub connect: Duration,
    /// Answer to the first request on a connection; default 2 s.
    pub server_check: Duration,
    /// Acknowledgement of the connection's set-up; default 3 s.
    pub setup: Duration,
    /// Silence after which the connection's health is checked; default 5 s.
    pub health_idle: Duration,
    /// Answer to a health check; default 3 s.
    pub health: Duration,
    /// Answer to one HTTP request; default 5 s. A question waits at most for two thirds of `request`, so that after one
    /// silent server there is time for another.
    pub http: Duration,
}

impl Timeouts {
    /// The defaults.
    pub const DEFAULT: Self = Self {
        request: Duration::from_secs(3),
        connect: Duration::from_millis(1500),
        server_check: Duration::from_secs(2),
        setup: Duration::from_secs(3),
        health_idle: Duration::from_secs(5),
        health: Duration::from_secs(3),
        http: Duration::from_secs(5),
    };
}

impl Default for Timeouts {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What to think of a list that lacks instances the last one had.
///
/// Additions and changes always apply at once. A removal that is *held* stays in the list, flagged in
/// [`crate::ServiceSnapshot::held`] and pickable, until the hold ends: then the server is asked, and what it says is
/// believed and announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum EmptyPolicy {
    /// In the first seconds of a connection, instances are held that an earlier connection listed and this one does not (a
    /// server that has just started may not know everybody yet), longer if more than half of the list would vanish. What
    /// the connection itself has listed may leave at once, and after that time every list is believed. See
    /// [`ClientConfigBuilder::hold_times`].
    #[default]
    Default,
    /// Every list is believed at once, always.
    Accept,
    /// Like `Default`; besides, a list without any instance is held for `max` whenever it comes.
    Hold {
        /// How long an empty list is not believed.
        max: Duration,
    },
    /// Like `Default`; besides, a list without any instance is never believed: the last instances stay until some
    /// instance is listed again.
    HoldForever,
}

/// How long removals are held at the beginning of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HoldTimes {
    /// Age of the connection up to which removals are held; they are decided at that age.
    pub(crate) window: Duration,
    /// Age at which they are decided if more than half of a list vanished.
    pub(crate) majority: Duration,
}

/// Who checks names, addresses, weights and metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Validation {
    /// The client, with the rules of the servers, before anything is recorded or sent.
    #[default]
    Client,
    /// The server: the client refuses only what it cannot express.
    Server,
}

/// The validated settings of a client.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    pub(crate) servers: ServerList,
    pub(crate) protocol: Protocol,
    /// Of servers whose entry names none.
    pub(crate) context_path: ContextPath,
    pub(crate) udp_push: UdpPush,
    /// Nobody logs in without them.
    pub(crate) credentials: Option<CredentialsSource>,
    pub(crate) namespace: Namespace,
    pub(crate) app_name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) timeouts: Timeouts,
    pub(crate) reconcile_interval: Option<Duration>,
    pub(crate) idle_time: Option<Duration>,
    pub(crate) empty_policy: EmptyPolicy,
    pub(crate) hold_times: HoldTimes,
    pub(crate) validation: Validation,
    pub(crate) max_metadata: usize,
    pub(crate) max_message_size: usize,
}

impl ClientConfig {
    /// A builder with every setting at its default and no server.
    #[must_use]
    pub fn builder() -> ClientConfigBuilder {
        ClientConfigBuilder::default()
    }

    /// What is to be spoken with the servers.
    #[must_use]
    pub const fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The path below which servers serve HTTP whose entry names none, as a prefix: empty for the root.
    #[must_use]
    pub fn context_path(&self) -> &str {
        self.context_path.as_str()
    }

    /// Whether the client logs in.
    #[must_use]
    pub const fn logs_in(&self) -> bool {
        self.credentials.is_some()
    }

    /// How changes are pushed where HTTP is spoken.
    #[must_use]
    pub const fn udp_push(&self) -> &UdpPush {
        &self.udp_push
    }

    /// The namespace the client works in.
    #[must_use]
    pub const fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// The time limits.
    #[must_use]
    pub const fn timeouts(&self) -> &Timeouts {
        &self.timeouts
    }

    /// The name of the application as servers see it.
    #[must_use]
    pub fn app_name(&self) -> &str {
        &self.app_name
    }
}
