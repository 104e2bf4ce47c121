//! The connection as the application may watch it.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::watch;

use super::client::Client;
use super::link::Link;
use crate::config::Protocol;
use crate::error::describe;
use crate::transport::{Phase, TransportStatus};

/// Whether and where a client is connected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionStatus {
    /// Nothing was asked of the client yet, so it has not begun to connect.
    Idle,
    /// Trying to connect, for the first time.
    Connecting {
        /// The configured server that is tried at the moment; `None` between two attempts.
        server: Option<String>,
        /// Failed attempts so far.
        failures: u32,
        /// What the last one failed with, as text for people.
        last_error: Option<String>,
    },
    /// A connection serves.
    Connected {
        /// The configured server.
        server: String,
        /// Address and port of the connection.
        peer: String,
        /// What is spoken on it: gRPC or HTTP.
        protocol: Protocol,
        /// Since when.
        since: Instant,
    },
    /// The connection is lost; another one is being made.
    Disconnected {
        /// Since when.
        since: Instant,
        /// Failed attempts since then.
        failures: u32,
        /// Why it was lost, or what the last attempt failed with, as text for people.
        last_error: Option<String>,
    },
    /// The client is shut down.
    Closed,
}

impl ConnectionStatus {
    /// Whether a connection serves.
    #[must_use]
    pub const fn is_connected(&self) -> bool {
        matches!(self, Self::Connected { .. })
    }
}

/// The connection of a client, to be looked at and waited on. It keeps the client alive.
#[derive(Debug, Clone)]
pub struct StatusWatch {
    client: Arc<Client>,
    transport: watch::Receiver<TransportStatus>,
    link: watch::Receiver<Link>,
}

impl StatusWatch {
    pub(crate) fn new(client: &Arc<Client>) -> Self {
        Self { client: Arc::clone(client), transport: client.transport.status(), link: client.core.watch_link() }
    }

    /// The status now.
    #[must_use]
    pub fn current(&self) -> ConnectionStatus {
        if self.client.core.is_closed() {
            return ConnectionStatus::Closed;
        }
        let link = self.link.borrow();
        if let (Some(session), Some(since)) = (link.session(), link.connected_since()) {
            let info = session.info();
            let (server, peer) = (info.server.to_string(), info.peer.to_string());
            let (protocol, since) = (info.protocol, since.into_std());
            return ConnectionStatus::Connected { server, peer, protocol, since };
        }
        let transport = self.transport.borrow();
        let failures = transport.failures;
        let last_error = transport.last_error.as_ref().map(|error| describe(error));
        match (&transport.phase, link.lost_since()) {
            (Phase::Closed, _) => ConnectionStatus::Closed,
            (_, Some(since)) => ConnectionStatus::Disconnected { since: since.into_std(), failures, last_error },
            (Phase::Idle, None) => ConnectionStatus::Idle,
            (Phase::Connecting { server }, None) => {
                ConnectionStatus::Connecting { server: Some(server.to_string()), failures, last_error }
            }
            (_, None) => ConnectionStatus::Connecting { server: None, failures, last_error },
        }
    }

    /// Waits until the status is another one than `seen`, and returns it.
    ///
    /// # Cancel safety
    /// Cancel safe: nothing is lost.
    pub async fn changed(&mut self, seen: &ConnectionStatus) -> ConnectionStatus {
        loop {
            // Both are marked as seen before looking, so that nothing falls between.
            self.transport.borrow_and_update();
            self.link.borrow_and_update();
            let closing = self.client.core.closing.notified();
            tokio::pin!(closing);
            closing.as_mut().enable();
            let current = self.current();
            if current != *seen || current == ConnectionStatus::Closed {
                return current;
            }
            tokio::select! {
                changed = self.transport.changed() => if changed.is_err() { return ConnectionStatus::Closed },
                changed = self.link.changed() => if changed.is_err() { return ConnectionStatus::Closed },
                () = closing => {}
            }
        }
    }
}
