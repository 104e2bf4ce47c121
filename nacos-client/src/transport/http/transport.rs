//! The HTTP implementation of [`NamingTransport`].

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::{runtime::Handle, sync::watch, task::AbortHandle};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    counters::BeatCounters,
    driver::{Context, StatusWriter, Supervisor},
    push_receiver::{PushReceiver, Pushes, UdpSockets},
    round::Servers,
    server::Server,
    settings::HttpSettings,
    wire::{Dial, PoolTasks},
};
use crate::{
    servers::{Connector, SystemResolver, TcpConnector},
    transport::{EventHandler, NamingTransport, Phase, StartError, TransportCounts, TransportStatus},
};

/// Keeps one client connected over HTTP.
pub(crate) struct HttpTransport {
    settings: Arc<HttpSettings>,
    connector: Arc<dyn Connector>,
    counters: Arc<BeatCounters>,
    pushes: Arc<Pushes>,
    abandon: Arc<AtomicBool>,
    status: watch::Sender<TransportStatus>,
    /// Tells the supervisor to end; cancelled by close and by drop.
    stop: CancellationToken,
    /// Ends the kept connections, after everything else.
    hang_up: CancellationToken,
    /// The supervisor, calls, beats and connections.
    tasks: TaskTracker,
    life: Mutex<Life>,
}

enum Life {
    New,
    Started { runtime: Handle, supervisor: AbortHandle },
    Closed,
}

impl HttpTransport {
    /// A transport over TCP. No I/O happens before the start.
    pub(crate) fn new(settings: HttpSettings) -> Self {
        Self::with_connector(settings, Arc::new(TcpConnector::new(Arc::new(SystemResolver))))
    }

    /// A transport over whatever `connector` connects to.
    pub(crate) fn with_connector(settings: HttpSettings, connector: Arc<dyn Connector>) -> Self {
        Self {
            pushes: Arc::new(Pushes::new(settings.push)),
            settings: Arc::new(settings),
            connector,
            counters: Arc::default(),
            abandon: Arc::default(),
            status: watch::Sender::new(TransportStatus::idle()),
            stop: CancellationToken::new(),
            hang_up: CancellationToken::new(),
            tasks: TaskTracker::new(),
            life: Mutex::new(Life::New),
        }
    }

    fn servers(&self, runtime: &Handle) -> Servers {
        let settings = &self.settings;
        let mut rng = settings.seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        let servers = (0..settings.servers.len()).filter_map(|index| {
            let address = settings.servers.get(index);
            let dial = Dial {
                connector: Arc::clone(&self.connector),
                host: address.host.clone(),
                port: address.port,
                limit: settings.limits.connect,
                pushes: Arc::clone(&self.pushes),
            };
            let tasks = PoolTasks { tasks: self.tasks.clone(), runtime: runtime.clone(), stop: self.hang_up.clone() };
            Server::new(address, &settings.context_path, settings.max_message_size, dial, tasks)
        });
        Servers::new(servers.collect(), rng.usize(..settings.servers.len().max(1)))
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        // Every critical section leaves a whole value, even if it panics.
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NamingTransport for HttpTransport {
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
        let context = Context {
            settings: Arc::clone(&self.settings),
            servers: Arc::new(self.servers(&runtime)),
            handler,
            counters: Arc::clone(&self.counters),
            pushes: Arc::clone(&self.pushes),
            abandon: Arc::clone(&self.abandon),
            tasks: self.tasks.clone(),
            runtime: runtime.clone(),
        };
        if self.settings.push.enabled {
            let receiver = PushReceiver::new(Arc::clone(&self.pushes), Arc::clone(&context.handler), UdpSockets);
            // Ends when `stop` is cancelled; `close` waits for it.
            self.tasks.spawn_on(receiver.run(self.stop.clone()), &runtime);
        }
        let supervisor = Supervisor::new(context, StatusWriter(self.status.clone()), self.stop.clone());
        let hang_up = self.hang_up.clone();
        // Ends when `stop` is cancelled, after the last deregistrations; `close` waits for it.
        let work = async move {
            let _hang_up = hang_up.drop_guard();
            supervisor.run().await;
        };
        let supervisor = self.tasks.spawn_on(work, &runtime).abort_handle();
        self.tasks.close();
        *life = Life::Started { runtime, supervisor };
        Ok(())
    }

    fn status(&self) -> watch::Receiver<TransportStatus> {
        self.status.subscribe()
    }

    fn counts(&self) -> TransportCounts {
        self.counters.counts().plus(self.pushes.counts())
    }

    fn abandon(&self, deadline: Duration) -> BoxFuture<'static, bool> {
        self.abandon.store(true, Ordering::Release);
        self.close(deadline)
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
        let (tasks, hang_up) = (self.tasks.clone(), self.hang_up.clone());
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
            hang_up.cancel();
            ended
        })
    }
}

impl Drop for HttpTransport {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport").field("servers", &self.settings.servers).finish_non_exhaustive()
    }
}
