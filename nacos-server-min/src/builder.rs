use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio_util::sync::CancellationToken;

use crate::api::http::http_service;
use crate::auth::{Guard, UserTable};
use crate::config::{Behaviour, Probes, Settings, SettingsError};
use crate::conn::{AcceptLoop, HttpThreads, Protocol, watch_silent_connections};
use crate::context::{Context, Start};
use crate::health::{probe_instances, watch_beats};
use crate::oddity::Oddities;
use crate::ports::{PortError, Ports};
use crate::server::Server;

/// Prepares a [`Server`].
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until it is started"]
pub struct Builder {
    host: String,
    port: u16,
    behaviour: Behaviour,
    seed: u64,
    clock_skew_ms: i64,
    http_threads: usize,
    users: UserTable,
    settings: Settings,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: 0,
            behaviour: Behaviour::Standard,
            seed: 0,
            clock_skew_ms: 0,
            http_threads: 0,
            users: UserTable::default(),
            settings: Settings::default(),
        }
    }
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A port is in use by somebody else.
    #[error("port {} is already in use ({addr})", addr.port())]
    PortTaken {
        /// The address that could not be had: the main port, or one of the two gRPC ports behind it.
        addr: SocketAddr,
    },
    /// A port could not be bound for another reason.
    #[error("cannot listen on {addr}")]
    Listen {
        /// The address meant.
        addr: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The system gives no more threads, or nothing to watch sockets with.
    #[error("cannot start a thread for HTTP")]
    Threads {
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The host name has no address.
    #[error("cannot resolve host {host:?}")]
    Host {
        /// The name given.
        host: String,
        /// What the resolver said, if it said anything.
        #[source]
        source: Option<io::Error>,
    },
    /// A setting cannot work.
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

impl Builder {
    /// Address or name of the interface to listen on. Default `127.0.0.1`.
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.host = host.into();
        self
    }

    /// The main port, for HTTP; gRPC listens 1000 above it, and the port after that is reserved. Default 0: three free ports.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Whose habits the server has. Default [`Behaviour::Standard`].
    pub fn behaviour(mut self, behaviour: Behaviour) -> Self {
        self.behaviour = behaviour;
        self
    }

    /// Seed of everything random: the oddities of [`Behaviour::Nacos25`] and faults by chance. Default 0.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How far this server's wall clock is off, in milliseconds. Default 0.
    pub fn clock_skew(mut self, milliseconds: i64) -> Self {
        self.clock_skew_ms = milliseconds;
        self
    }

    /// Threads that serve the HTTP port and nothing else. Default 0: it is served on the tokio runtime that the server is started
    /// on, with everything else, which a paused clock needs. The program takes one for each processor.
    ///
    /// Beats of many instances come one by one and are answered within microseconds. On a runtime of several threads each of
    /// them wakes two; here it wakes one.
    pub fn http_threads(mut self, count: usize) -> Self {
        self.http_threads = count;
        self
    }

    /// Lets only users in, of whom this is one; he may do everything. Default: there are none, and everybody is let in.
    ///
    /// Tokens are had at the login paths of all generations and live for [`Settings::token_life`], at the longest until the server ends.
    pub fn user(mut self, name: impl Into<String>, password: impl Into<String>) -> Self {
        self.users.put(name.into(), password.into());
        self
    }

    /// Times and limits. Default [`Settings::default`].
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Binds the ports and starts to serve, on the current tokio runtime.
    ///
    /// # Errors
    ///
    /// [`StartError`]; nothing is left behind then.
    ///
    /// # Cancel safety
    ///
    /// A cancelled start leaves nothing behind.
    pub async fn start(self) -> Result<Server, StartError> {
        self.settings.validate()?;
        if self.users.without_password() {
            return Err(SettingsError::of("user", "a name and a password").into());
        }
        let ip = resolve(&self.host).await?;
        let ports = Ports::bind(ip, self.port)?;
        let local = |listener: &tokio::net::TcpListener| {
            listener.local_addr().map_err(|source| StartError::Listen { addr: SocketAddr::new(ip, self.port), source })
        };
        let (http_addr, grpc_addr) = (local(&ports.http)?, local(&ports.grpc)?);
        // Clients believe only datagrams that come from the address they asked.
        let udp = UdpSocket::bind((ip, 0)).await;
        let udp = udp.map_err(|source| StartError::Listen { addr: SocketAddr::new(ip, 0), source })?;
        let abort = CancellationToken::new();
        let guard = (!self.users.is_empty()).then(|| Guard::new(self.users, self.settings.token_life));
        let oddities = (self.behaviour == Behaviour::Nacos25).then(|| Oddities::new(self.seed));
        let start = Start { http_addr, oddities, skew_ms: self.clock_skew_ms, seed: self.seed, guard };
        let (context, engine) = Context::new(self.settings.prepared(), start, abort.clone());
        // Before everything that would be left behind if there are no more threads.
        let http = http_service(&context);
        let http = match self.http_threads {
            0 => Protocol::Http(http),
            count => {
                let threads = HttpThreads::start(count, &context, &http, &abort);
                Protocol::HttpOnThreads(threads.map_err(|source| StartError::Threads { source })?)
            }
        };
        let spawn = |task| spawn_until(&context, &abort, task);
        if let Some(engine) = engine {
            let context = Arc::clone(&context);
            spawn(Box::pin(async move { engine.run(context).await }));
        }
        spawn(Box::pin(watch_silent_connections(Arc::clone(&context))));
        spawn(Box::pin(clean(Arc::clone(&context))));
        spawn(Box::pin(expire_overrides(Arc::clone(&context))));
        spawn(Box::pin(watch_beats(Arc::clone(&context))));
        if context.settings.probes != Probes::Off {
            spawn(Box::pin(probe_instances(Arc::clone(&context))));
        }
        let pushing = Arc::clone(&context);
        spawn(Box::pin(async move { pushing.udp.run(Arc::clone(&pushing), udp).await }));
        for (listener, protocol) in
            [(ports.http, http), (ports.grpc, Protocol::Grpc), (ports.cluster, Protocol::Reserved)]
        {
            let accept = AcceptLoop { listener, protocol, context: Arc::clone(&context), abort: abort.clone() };
            // Ends when the server stops or is aborted.
            context.spawn(accept.run());
        }
        tracing::info!(%http_addr, %grpc_addr, "server started");
        Ok(Server::new(context, abort, http_addr, grpc_addr))
    }
}

type Task = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// Upkeep that ends when the server stops or is aborted.
fn spawn_until(context: &Arc<Context>, abort: &CancellationToken, task: Task) {
    let (stop, abort) = (context.stop.clone(), abort.clone());
    context.spawn(async move {
        tokio::select! {
            () = task => {}
            () = stop.cancelled() => {}
            () = abort.cancelled() => {}
        }
    });
}

/// Forgets services that stayed empty, now and then.
async fn clean(context: Arc<Context>) {
    let after = u32::try_from(context.settings.empty_service_after.as_secs()).unwrap_or(u32::MAX);
    loop {
        tokio::time::sleep(context.settings.clean_interval).await;
        let removed = context.registry.sweep(context.clock.seconds(), after);
        if removed > 0 {
            tracing::debug!(removed, "empty services forgotten");
        }
    }
}

/// Forgets what operators said about instances that have gone.
async fn expire_overrides(context: Arc<Context>) {
    let after = u32::try_from(context.settings.instance_metadata_after.as_secs()).unwrap_or(u32::MAX);
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let forgotten = context.registry.expire_overrides(context.clock.seconds(), after);
        context.counters.overrides_forgotten.add_many(forgotten);
    }
}

async fn resolve(host: &str) -> Result<IpAddr, StartError> {
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    if let Ok(ip) = bare.parse() {
        return Ok(ip);
    }
    let error = |source| StartError::Host { host: host.to_owned(), source };
    let mut found = tokio::net::lookup_host((bare, 0)).await.map_err(|source| error(Some(source)))?;
    found.next().map(|addr| addr.ip()).ok_or_else(|| error(None))
}

impl From<PortError> for StartError {
    fn from(PortError { addr, source }: PortError) -> Self {
        match source.kind() {
            io::ErrorKind::AddrInUse => Self::PortTaken { addr },
            _ => Self::Listen { addr, source },
        }
    }
}
