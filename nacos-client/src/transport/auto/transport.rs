//! The implementation of [`NamingTransport`] that chooses between two others.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::{BoxFuture, join_all};
use tokio::{runtime::Handle, sync::watch, task::AbortHandle};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    driver,
    machine::Machine,
    relay::{Protocols, Relay},
};
use crate::transport::{EventHandler, NamingTransport, Phase, StartError, TransportCounts, TransportStatus};

/// Keeps one client connected over gRPC where servers have it, else over HTTP.
pub(crate) struct AutoTransport {
    relay: Arc<Relay>,
    /// Tells the driver to end; cancelled by close and by drop.
    stop: CancellationToken,
    tasks: TaskTracker,
    life: Mutex<Life>,
}

enum Life {
    New,
    Started { runtime: Handle, driver: AbortHandle },
    Closed,
}

impl AutoTransport {
    /// A transport for a list of `servers` servers. No I/O happens before the start.
    pub(crate) fn new(protocols: Protocols, servers: usize) -> Self {
        Self {
            relay: Arc::new(Relay::new(protocols, Machine::new(servers, fastrand::Rng::new()))),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            life: Mutex::new(Life::New),
        }
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        // Every critical section leaves a whole value, even if it panics.
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NamingTransport for AutoTransport {
    fn start(&self, handler: Arc<dyn EventHandler>) -> Result<(), StartError> {
        let mut life = self.life();
        if self.stop.is_cancelled() {
            return Err(StartError::Closed);
        }
        match *life {
            Life::Started { .. } => return Ok(()),
            Life::Closed => return Err(StartError::Closed),
            Life::New => {}
        }
        let runtime = Handle::try_current().map_err(|_| StartError::NoRuntime)?;
        self.relay.begin(handler);
        // Ends when `stop` is cancelled; `close` waits for it.
        let driver = driver::run(Arc::clone(&self.relay), self.stop.clone());
        let driver = self.tasks.spawn_on(driver, &runtime).abort_handle();
        self.tasks.close();
        *life = Life::Started { runtime, driver };
        Ok(())
    }

    fn status(&self) -> watch::Receiver<TransportStatus> {
        self.relay.status.subscribe()
    }

    fn counts(&self) -> TransportCounts {
        self.relay.counts()
    }

    fn close(&self, deadline: Duration) -> BoxFuture<'static, bool> {
        self.stop.cancel();
        // Closed now, even if nobody waits for the end of it.
        let ends: Vec<_> = self.relay.close().into_iter().map(|transport| transport.close(deadline)).collect();
        let started = match &*self.life() {
            Life::Started { runtime, driver } => Some((runtime.clone(), driver.clone())),
            Life::New | Life::Closed => None,
        };
        let Some((runtime, driver)) = started else {
            *self.life() = Life::Closed;
            self.relay.status.send_modify(|status| status.phase = Phase::Closed);
            return Box::pin(async { true });
        };
        let (tasks, relay) = (self.tasks.clone(), Arc::clone(&self.relay));
        Box::pin(async move {
            // Slept on the transport's own runtime: the caller may be outside of any, and if that runtime is gone, so are the tasks.
            let mut alarm = runtime.spawn(async move { tokio::time::sleep(deadline).await });
            let ended = tokio::select! {
                biased;
                () = tasks.wait() => true,
                _ = &mut alarm => false,
            };
            alarm.abort();
            driver.abort();
            let all = join_all(ends).await.into_iter().all(|ended| ended);
            // Until here the last events of the transports are passed on.
            drop(relay);
            ended && all
        })
    }
}

impl Drop for AutoTransport {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl fmt::Debug for AutoTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AutoTransport").field("status", &*self.relay.status.borrow()).finish_non_exhaustive()
    }
}
