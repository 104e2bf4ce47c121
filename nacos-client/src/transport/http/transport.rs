//! The HTTP implementation of [`NamingTransport`].

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::{runtime::Handle, sync::watch};
use tokio_util::sync::CancellationToken;

use super::{
    counters::BeatCounters,
    driver::{Context, Supervisor},
    push_receiver::{PushReceiver, Pushes, UdpSockets},
    round::Servers,
    server::Server,
    settings::HttpSettings,
    wire::{Dial, PoolTasks},
};
use crate::{
    servers::{Connector, SystemResolver, TcpConnector},
    transport::{
        EventHandler, NamingTransport, Phase, StartError, StatusWriter, Tasks, TransportCounts, TransportStatus,
    },
};

/// Keeps one client connected over HTTP.
pub(crate) struct HttpTransport {
    settings: Arc<HttpSettings>,
    connector: Arc<dyn Connector>,
    counters: Arc<BeatCounters>,
    pushes: Arc<Pushes>,
    abandon: Arc<AtomicBool>,
    status: watch::Sender<TransportStatus>,
    /// Ends the kept connections, after everything else.
    hang_up: CancellationToken,
    /// The supervisor, calls, beats and connections.
    tasks: Tasks,
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
            hang_up: CancellationToken::new(),
            tasks: Tasks::new(),
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
            let tasks =
                PoolTasks { tasks: self.tasks.tracker().clone(), runtime: runtime.clone(), stop: self.hang_up.clone() };
            Server::new(address, &settings.context_path, settings.max_message_size, dial, tasks)
        });
        Servers::new(servers.collect(), settings.auth.clone(), rng.usize(..settings.servers.len().max(1)))
    }
}

impl NamingTransport for HttpTransport {
    fn start(&self, handler: Arc<dyn EventHandler>) -> Result<(), StartError> {
        self.tasks.begin(|runtime| {
            let context = Context {
                settings: Arc::clone(&self.settings),
                servers: Arc::new(self.servers(runtime)),
                handler,
                counters: Arc::clone(&self.counters),
                pushes: Arc::clone(&self.pushes),
                abandon: Arc::clone(&self.abandon),
                tasks: self.tasks.tracker().clone(),
                runtime: runtime.clone(),
            };
            if self.settings.push.enabled {
                let receiver = PushReceiver::new(Arc::clone(&self.pushes), Arc::clone(&context.handler), UdpSockets);
                // Ends when told to stop; `close` waits for it.
                self.tasks.tracker().spawn_on(receiver.run(self.tasks.stop().clone()), runtime);
            }
            let status = StatusWriter(self.status.clone());
            let supervisor = Supervisor::new(context, status, self.tasks.stop().clone());
            let hang_up = self.hang_up.clone();
            // Ends after the last deregistrations.
            async move {
                let _hang_up = hang_up.drop_guard();
                supervisor.run().await;
            }
        })
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
        let Some(end) = self.tasks.end(deadline) else {
            self.status.send_modify(|status| status.phase = Phase::Closed);
            return Box::pin(async { true });
        };
        let hang_up = self.hang_up.clone();
        Box::pin(async move {
            let ended = end.await;
            hang_up.cancel();
            ended
        })
    }
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport").field("servers", &self.settings.servers).finish_non_exhaustive()
    }
}
