//! What naming needs of a protocol.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::sync::watch;

use super::{EventHandler, TransportCounts, TransportStatus};

/// A protocol that keeps a client connected to one of its servers.
///
/// Making one does no I/O. Dropping it ends its tasks without waiting.
pub(crate) trait NamingTransport: Send + Sync + 'static {
    /// Begins to connect, on the tokio runtime of the caller. A second start changes nothing.
    ///
    /// # Errors
    ///
    /// Outside a runtime, or after the close.
    fn start(&self, handler: Arc<dyn EventHandler>) -> Result<(), StartError>;

    /// The current state, to be watched. Its last value is [`Phase::Closed`](super::Phase::Closed).
    fn status(&self) -> watch::Receiver<TransportStatus>;

    /// What came on the push streams so far.
    fn counts(&self) -> TransportCounts {
        TransportCounts::default()
    }

    /// Closes every connection and waits until all tasks have ended, at most `deadline`; then they are aborted.
    /// Resolves to whether all ended by themselves. Idempotent; concurrent closes all wait.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the closing under way.
    fn close(&self, deadline: Duration) -> BoxFuture<'static, bool>;

    /// Closes like [`NamingTransport::close`], but leaves on the servers what outlives a connection there: it is registered
    /// again at once by other means.
    fn abandon(&self, deadline: Duration) -> BoxFuture<'static, bool> {
        self.close(deadline)
    }
}

/// Why a transport could not be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StartError {
    /// The caller is not inside a tokio runtime.
    #[error("no tokio runtime in this context")]
    NoRuntime,
    /// The transport was closed before.
    #[error("the client is closed")]
    Closed,
}
