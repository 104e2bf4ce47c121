//! One live connection as its users see it.

use std::{fmt, net::IpAddr, sync::Arc};

use futures_util::future::BoxFuture;

use super::{Call, CallError, Reply};
use crate::config::Protocol;

/// Number of a connection within one client: strictly increasing, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Epoch(pub(crate) u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What is known about the other end of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionInfo {
    /// The configured server entry, formatted.
    pub(crate) server: Arc<str>,
    /// Address and port of the connection.
    pub(crate) peer: Arc<str>,
    /// Our own address on this connection: the route towards the server.
    pub(crate) local_ip: Option<IpAddr>,
    /// The id the server gave the connection; empty if it has none.
    pub(crate) connection_id: Arc<str>,
    /// What the server said it can do.
    pub(crate) abilities: Abilities,
    /// What registrations do there.
    pub(crate) dialect: Dialect,
    /// What is spoken on it; never [`Protocol::Auto`].
    pub(crate) protocol: Protocol,
    /// Who sees to it that lists stay up to date.
    pub(crate) freshness: Freshness,
}

/// Who sees to it that the lists of subscribed services stay up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Freshness {
    /// The server, which pushes every change and resends what was not acknowledged.
    #[default]
    Pushed,
    /// The client, which asks again and again; pushes may come as well, but may also be lost.
    Polled,
}

/// Features a server announced. What was not announced is not there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Abilities {
    /// The server negotiates abilities at all (2.3.0 and later).
    pub(crate) negotiated: bool,
    /// Persistent instances can be registered on this connection.
    pub(crate) persistent: bool,
}

/// What a registration does to what the server already holds of this client for the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Dialect {
    /// One record per connection and service: a register or batch replaces it, a deregister removes all of it.
    /// That is Nacos over gRPC.
    #[default]
    Replacing,
    /// One record per service and address: register and batch add, deregister removes the named one. That is every server over HTTP, and r-nacos.
    Adding,
}

/// One live connection of one epoch.
///
/// It is cheap to share; holding it does not keep the connection alive.
pub(crate) trait Session: Send + Sync + 'static {
    /// The epoch of this connection.
    fn epoch(&self) -> Epoch;

    /// The other end.
    fn info(&self) -> &SessionInfo;

    /// Sends one call. It goes out when the returned future is first polled and a place among the calls in flight is free.
    ///
    /// The future resolves for sure, at the latest when the epoch ends. It needs no runtime context to be polled.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future abandons the answer; whether the server acted on the call is then unknown.
    fn call(&self, call: Call) -> BoxFuture<'static, Result<Reply, CallError>>;
}

impl fmt::Debug for dyn Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("epoch", &self.epoch()).field("info", self.info()).finish()
    }
}
