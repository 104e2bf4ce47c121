//! The state of a transport as others may watch it.

use std::sync::Arc;

use tokio::sync::watch;

use super::LinkError;

/// A snapshot of what a transport is doing.
#[derive(Debug, Clone)]
pub(crate) struct TransportStatus {
    /// What it is doing.
    pub(crate) phase: Phase,
    /// Failed attempts since the last connection that held.
    pub(crate) failures: u32,
    /// Why the last connection or attempt ended.
    pub(crate) last_error: Option<LinkError>,
}

/// What a transport is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not started.
    Idle,
    /// Dialing or setting up a connection to the named server entry.
    Connecting {
        /// The entry.
        server: Arc<str>,
    },
    /// A connection serves.
    Connected,
    /// Waiting before the next attempt.
    Waiting,
    /// Closed or dropped, or its runtime is gone; final.
    Closed,
}

impl TransportStatus {
    /// The state before the start.
    pub(crate) fn idle() -> Self {
        Self { phase: Phase::Idle, failures: 0, last_error: None }
    }
}

/// Publishes the status; the last thing it says is that the transport is closed, however its task ends.
pub(crate) struct StatusWriter(pub(crate) watch::Sender<TransportStatus>);

impl Drop for StatusWriter {
    fn drop(&mut self) {
        self.0.send_modify(|status| status.phase = Phase::Closed);
    }
}
