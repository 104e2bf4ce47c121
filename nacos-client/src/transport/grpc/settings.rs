//! What a gRPC transport is told about its client.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crate::{auth::Auth, servers::ServerList};

/// What a gRPC transport is told about its client; taken as valid.
#[derive(Debug, Clone)]
pub(crate) struct GrpcSettings {
    /// The login.
    pub(crate) auth: Auth,
    /// The servers.
    pub(crate) servers: ServerList,
    /// Namespace id of all calls; `public` for the default one, never empty.
    pub(crate) namespace: Arc<str>,
    /// Application name.
    pub(crate) app_name: Arc<str>,
    /// The user's labels of the connection, sent with the prefix `app_`.
    pub(crate) labels: BTreeMap<String, String>,
    /// Largest message taken from a server, in bytes.
    pub(crate) max_message_size: usize,
    /// Time limits.
    pub(crate) timings: Timings,
    /// That nobody listens is no event worth a warning: another protocol is tried beside this one.
    pub(crate) tentative: bool,
    /// Makes the choice of the first server and the jitter repeatable.
    pub(crate) seed: Option<u64>,
}

/// Time limits of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timings {
    /// Resolving, TCP connection and HTTP/2 preface together. Default 1.5 s.
    pub(crate) connect: Duration,
    /// The answer to the first request. Default 2 s.
    pub(crate) server_check: Duration,
    /// The acknowledgement of the set-up, from servers that announce one. Default 3 s.
    pub(crate) setup_ack: Duration,
    /// Silence before a health check. Default 5 s.
    pub(crate) health_idle: HealthIdle,
    /// Wait for its answer. Default 3 s.
    pub(crate) health_timeout: HealthTimeout,
    /// A call that is not answered for this long ends the connection. Default 10 s.
    pub(crate) call_limit: Duration,
}

/// Silence before a health check. A type of its own, so that it cannot be taken for [`HealthTimeout`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HealthIdle(pub(crate) Duration);

/// Wait for the answer to a health check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HealthTimeout(pub(crate) Duration);

impl Default for Timings {
    fn default() -> Self {
        Self {
            connect: Duration::from_millis(1_500),
            server_check: Duration::from_secs(2),
            setup_ack: Duration::from_secs(3),
            health_idle: HealthIdle(Duration::from_secs(5)),
            health_timeout: HealthTimeout(Duration::from_secs(3)),
            call_limit: Duration::from_secs(10),
        }
    }
}
