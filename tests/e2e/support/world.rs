//! The servers a scenario must hold against: ours as it is by default, ours as slow and odd as a recorded real one, and any
//! other one that `NACOS_PEER` names.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicU64, Ordering};

use nacos_proto::grpc::{BatchInstanceRequest, BatchInstanceResponse};
use nacos_proto::{ResponseError, code};
use nacos_server_min::{Behaviour, ConnectionInfo, Server, Settings};

use super::proxy::Proxy;
use super::witness::Witness;

/// Names a running server, as host and main port.
const PEER: &str = "NACOS_PEER";
/// From the main port of a server to its gRPC port.
const GRPC_OFFSET: u16 = 1000;

/// What kind of server a scenario meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum World {
    /// Ours, by default.
    Standard,
    /// Ours, as late, stale and odd as a recorded Nacos 2.5.1, by this seed.
    Nacos25 { seed: u64 },
    /// The one that the environment names.
    Peer,
}

impl World {
    /// A server of this kind, behind a relay.
    pub(crate) async fn registry(self) -> Registry {
        self.registry_with(Settings::default()).await
    }

    /// The same with other times and limits; they do not reach a peer.
    pub(crate) async fn registry_with(self, settings: Settings) -> Registry {
        let host = match self {
            Self::Peer => Host::Peer(peer()),
            Self::Standard | Self::Nacos25 { .. } => Host::Ours(self.start(settings.clone()).await),
        };
        let proxy = Proxy::to(host.grpc()).await;
        Registry { world: self, settings, main: host.main(), host: Some(host), proxy }
    }

    async fn start(self, settings: Settings) -> Server {
        let builder = Server::builder().settings(settings);
        let builder = match self {
            Self::Nacos25 { seed } => builder.behaviour(Behaviour::Nacos25).seed(seed),
            Self::Standard | Self::Peer => builder,
        };
        builder.start().await.expect("free ports are to be had")
    }
}

fn peer() -> SocketAddr {
    let named = std::env::var(PEER).unwrap_or_else(|_| panic!("{PEER} names no server as host:port"));
    let mut found = named.to_socket_addrs().expect("the peer's name has an address");
    found.next().expect("the peer's name has an address")
}

#[derive(Debug)]
enum Host {
    Ours(Server),
    Peer(SocketAddr),
}

impl Host {
    fn main(&self) -> u16 {
        match self {
            Self::Ours(server) => server.http_addr().port(),
            Self::Peer(addr) => addr.port(),
        }
    }

    fn grpc(&self) -> SocketAddr {
        match self {
            Self::Ours(server) => server.grpc_addr(),
            Self::Peer(addr) => SocketAddr::new(addr.ip(), addr.port() + GRPC_OFFSET),
        }
    }
}

/// One server behind a relay that clients connect to. Witnesses connect to it directly.
#[derive(Debug)]
pub(crate) struct Registry {
    world: World,
    settings: Settings,
    /// The main port that clients know the server by.
    main: u16,
    /// `None` while it is down.
    host: Option<Host>,
    /// The network between clients and the server.
    pub(crate) proxy: Proxy,
}

impl Registry {
    /// The server's entry in a client's list: through the relay.
    pub(crate) fn entry(&self) -> String {
        self.proxy.entry(self.main)
    }

    /// Somebody who looks at the server past the relay.
    pub(crate) async fn witness(&self) -> Witness {
        Witness::join(self.grpc()).await
    }

    /// Whether the server takes several instances of a service from one connection: Nacos does since 2.1.1.
    pub(crate) async fn takes_batches(&self) -> bool {
        let nothing = BatchInstanceRequest::default();
        match self.witness().await.call::<_, BatchInstanceResponse>(&nothing).await {
            Err(ResponseError::Refused(failure)) => failure.code() != code::NO_HANDLER,
            Ok(_) => true,
            Err(other) => panic!("an empty batch was answered with {other:?}"),
        }
    }

    /// The server's gRPC port, past the relay.
    pub(crate) fn grpc(&self) -> SocketAddr {
        self.host.as_ref().expect("the server runs").grpc()
    }

    /// Our server itself, with its counters and faults. Not for scenarios that a peer takes part in.
    pub(crate) fn server(&self) -> &Server {
        match &self.host {
            Some(Host::Ours(server)) => server,
            Some(Host::Peer(_)) => panic!("a peer has no switches"),
            None => panic!("the server is down"),
        }
    }

    /// The server dies and takes everything it knew with it; connections to it are refused. With a peer only the network fails,
    /// which makes it forget what is ephemeral as well.
    pub(crate) async fn goes_down(&mut self) {
        self.proxy.refuse().await;
        if let Some(Host::Ours(_)) = self.host {
            self.host = None;
        }
        self.proxy.reset_connections();
    }

    /// An empty server takes the place of the one that died.
    pub(crate) async fn comes_up(&mut self) {
        if self.host.is_none() {
            let host = Host::Ours(self.world.start(self.settings.clone()).await);
            self.proxy.retarget(host.grpc());
            self.host = Some(host);
        }
        self.proxy.accept().await;
    }
}

/// A service name that nobody else uses, not even an earlier run against the same peer.
pub(crate) fn unique(name: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let started =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("it is after 1970").as_micros();
    format!("{name}-{}-{started:x}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The seeds of the odd server that every scenario is run with.
const SEEDS: [u64; 3] = [1, 2, 3];

/// Runs a scenario against the odd server, with all seeds at the same time, for most of its time is waiting.
/// Each has a thread and a runtime of its own, so that it looks the same as it would alone.
pub(crate) fn with_every_seed<S: Future<Output = ()>>(scenario: impl Fn(World) -> S + Copy + Send + 'static) {
    let run = |seed| {
        move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(scenario(World::Nacos25 { seed }));
        }
    };
    let runs = SEEDS.map(|seed| (seed, std::thread::spawn(run(seed))));
    for (seed, run) in runs {
        assert!(run.join().is_ok(), "failed with seed {seed}");
    }
}

/// Makes tests of scenarios: functions that take a [`World`], each run against every kind of server.
macro_rules! in_every_world {
    ($($scenario:ident),+ $(,)?) => {
        $crate::support::world::in_our_worlds!($($scenario),+);
        mod peer {
            $(
                #[tokio::test]
                #[ignore = "needs a running server, named by NACOS_PEER"]
                async fn $scenario() { super::$scenario($crate::support::world::World::Peer).await; }
            )+
        }
    };
}

/// Like [`in_every_world`], for scenarios that need the switches of our own server.
macro_rules! in_our_worlds {
    ($($scenario:ident),+ $(,)?) => {
        $(
            mod $scenario {
                #[tokio::test]
                async fn standard() { super::$scenario($crate::support::world::World::Standard).await; }

                #[test]
                fn nacos25() { $crate::support::world::with_every_seed(super::$scenario); }
            }
        )+
    };
}

pub(crate) use {in_every_world, in_our_worlds};

/// The server's connections with clients under test that publish something.
pub(crate) fn publishers(server: &Server) -> Vec<ConnectionInfo> {
    let mut all = server.connections();
    all.retain(|c| c.registered && c.published > 0 && c.client_version.starts_with("Nacos-Rust"));
    all
}

/// Whether the client under test publishes something there.
pub(crate) fn serves(registry: &Registry) -> bool {
    !publishers(registry.server()).is_empty()
}

/// The server's id of the only connection that publishes something.
pub(crate) fn id_of_the_client(server: &Server) -> String {
    let publishing = publishers(server);
    assert_eq!(publishing.len(), 1, "{publishing:?}");
    publishing[0].id.clone()
}
