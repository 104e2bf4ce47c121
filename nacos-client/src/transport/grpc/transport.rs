//! The gRPC implementation of [`NamingTransport`].

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::{
    runtime::Handle,
    sync::{mpsc, watch},
    task::AbortHandle,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    connection::Context,
    driver::{SIGNALS, StatusWriter, Supervisor},
    settings::GrpcSettings,
};
use crate::{
    log_limit::LogLimit,
    servers::{Connector, SystemResolver, TcpConnector},
    transport::{EventHandler, NamingTransport, Phase, StartError, StreamCounters, TransportCounts, TransportStatus},
};

/// Keeps one client connected over gRPC.
pub(crate) struct GrpcTransport {
    settings: Arc<GrpcSettings>,
    connector: Arc<dyn Connector>,
    counters: Arc<StreamCounters>,
    status: watch::Sender<TransportStatus>,
    /// Tells the supervisor to end; cancelled by close and by drop.
    stop: CancellationToken,
    /// Waits for the supervisor, which waits for everything else.
    tasks: TaskTracker,
    life: Mutex<Life>,
}

enum Life {
    New,
    Started { runtime: Handle, supervisor: AbortHandle },
    Closed,
}

impl GrpcTransport {
    /// A transport over TCP. No I/O happens before the start.
    pub(crate) fn new(settings: GrpcSettings) -> Self {
        Self::with_connector(settings, Arc::new(TcpConnector::new(Arc::new(SystemResolver))))
    }

    /// A transport over whatever `connector` connects to.
    pub(crate) fn with_connector(settings: GrpcSettings, connector: Arc<dyn Connector>) -> Self {
        Self {
            settings: Arc::new(settings),
            connector,
            counters: Arc::default(),
            status: watch::Sender::new(TransportStatus::idle()),
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

impl NamingTransport for GrpcTransport {
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
        let (signals, inbox) = mpsc::channel(SIGNALS);
        let context = Context {
            settings: Arc::clone(&self.settings),
            connector: Arc::clone(&self.connector),
            handler,
            signals,
            counters: Arc::clone(&self.counters),
            oversized_log: LogLimit::default(),
        };
        let status = StatusWriter(self.status.clone());
        let supervisor = Supervisor::new(Arc::new(context), inbox, status, self.stop.clone());
        // Ends when `stop` is cancelled; `close` waits for it.
        let supervisor = self.tasks.spawn_on(supervisor.run(), &runtime).abort_handle();
        self.tasks.close();
        *life = Life::Started { runtime, supervisor };
        Ok(())
    }

    fn status(&self) -> watch::Receiver<TransportStatus> {
        self.status.subscribe()
    }

    fn counts(&self) -> TransportCounts {
        self.counters.counts()
    }

    fn close(&self, deadline: Duration) -> BoxFuture<'static, bool> {
        self.stop.cancel();
        let started = match &*self.life() {
            Life::Started { runtime, supervisor } => Some((runtime.clone(), supervisor.clone())),
            Life::New | Life::Closed => None,
        };
        let Some((runtime, supervisor)) = started else {
            *self.life() = Life::Closed;
            self.status.send_modify(|status| status.phase = Phase::Closed);
            return Box::pin(async { true });
        };
        let tasks = self.tasks.clone();
        Box::pin(async move {
            // Slept on the transport's own runtime: the caller may be outside of any, and if that runtime is gone, so are the tasks.
            let mut alarm = runtime.spawn(async move { tokio::time::sleep(deadline).await });
            let ended = tokio::select! {
                biased;
                () = tasks.wait() => true,
                _ = &mut alarm => false,
            };
            alarm.abort();
            supervisor.abort();
            ended
        })
    }
}

impl Drop for GrpcTransport {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl fmt::Debug for GrpcTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrpcTransport").field("servers", &self.settings.servers).finish_non_exhaustive()
    }
}
