//! What an HTTP transport is told about its client.

use std::{sync::Arc, time::Duration};

use crate::{
    auth::Auth,
    config::UdpPush,
    servers::{ContextPath, ServerList},
};

/// What an HTTP transport is told about its client; taken as valid.
#[derive(Debug, Clone)]
pub(crate) struct HttpSettings {
    /// The login.
    pub(crate) auth: Auth,
    /// The servers.
    pub(crate) servers: ServerList,
    /// The path below which servers serve HTTP whose entry names none.
    pub(crate) context_path: ContextPath,
    /// Namespace id of all calls; `public` for the default one, never empty.
    pub(crate) namespace: Arc<str>,
    /// Application name.
    pub(crate) app_name: Arc<str>,
    /// How servers push.
    pub(crate) push: UdpPush,
    /// Largest answer taken from a server, in bytes.
    pub(crate) max_message_size: usize,
    /// Time limits.
    pub(crate) limits: HttpLimits,
    /// Makes the choice of the first server and the jitter repeatable.
    pub(crate) seed: Option<u64>,
}

/// Time limits of the exchanges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HttpLimits {
    /// Resolving and TCP connection. Default 1.5 s.
    pub(crate) connect: Duration,
    /// One exchange that changes something, beats included. Default 5 s.
    pub(crate) write: Duration,
    /// One exchange that asks for something. Default 2 s: after one silent server there is time for another within the deadline of a call.
    pub(crate) read: Duration,
    /// Silence before a server is asked whether it still serves. Default 5 s.
    pub(crate) idle: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_millis(1_500),
            write: Duration::from_secs(5),
            read: Duration::from_secs(2),
            idle: Duration::from_secs(5),
        }
    }
}
