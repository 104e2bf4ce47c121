//! The implementation of [`NamingTransport`] that chooses between two others.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, join_all};
use tokio::sync::watch;

use super::{
    driver,
    machine::Machine,
    relay::{Protocols, Relay},
};
use crate::transport::{EventHandler, NamingTransport, Phase, StartError, Tasks, TransportCounts, TransportStatus};

/// Keeps one client connected over gRPC where servers have it, else over HTTP.
pub(crate) struct AutoTransport {
    relay: Arc<Relay>,
    tasks: Tasks,
}

impl AutoTransport {
    /// A transport for a list of `servers` servers. No I/O happens before the start.
    pub(crate) fn new(protocols: Protocols, servers: usize) -> Self {
        Self {
            relay: Arc::new(Relay::new(protocols, Machine::new(servers, fastrand::Rng::new()))),
            tasks: Tasks::new(),
        }
    }
}

impl NamingTransport for AutoTransport {
    fn start(&self, handler: Arc<dyn EventHandler>) -> Result<(), StartError> {
        self.tasks.begin(|_| {
            self.relay.begin(handler);
            driver::run(Arc::clone(&self.relay), self.tasks.stop().clone())
        })
    }

    fn status(&self) -> watch::Receiver<TransportStatus> {
        self.relay.status.subscribe()
    }

    fn counts(&self) -> TransportCounts {
        self.relay.counts()
    }

    fn close(&self, deadline: Duration) -> BoxFuture<'static, bool> {
        let end = self.tasks.end(deadline);
        // Closed now, even if nobody waits for the end of it.
        let ends: Vec<_> = self.relay.close().into_iter().map(|transport| transport.close(deadline)).collect();
        let Some(end) = end else {
            self.relay.status.send_modify(|status| status.phase = Phase::Closed);
            return Box::pin(async { true });
        };
        let relay = Arc::clone(&self.relay);
        Box::pin(async move {
            let ended = end.await;
            let all = join_all(ends).await.into_iter().all(|ended| ended);
            // Until here the last events of the transports are passed on.
            drop(relay);
            ended && all
        })
    }
}

impl fmt::Debug for AutoTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AutoTransport").field("status", &*self.relay.status.borrow()).finish_non_exhaustive()
    }
}
