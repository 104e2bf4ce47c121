//! What the receiver shares with the epochs: whom it may believe, to which epoch pushes belong, and the port in use.

use std::{
    collections::{BTreeMap, VecDeque},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU16, AtomicU64, Ordering},
    },
};

use nacos_proto::grpc::ServiceInfo;
use tokio::sync::watch;

use crate::{
    config::{PushSenders, UdpPush},
    transport::{Epoch, Event, EventHandler, Origin, TransportCounts},
};

/// Addresses of servers that are remembered; more than any cluster has, so that names with changing addresses cost no more.
const SERVERS: usize = 256;
/// The longest answer to a question for everything known; a longer one fits into no packet.
const LONGEST_DUMP: usize = 60_000;

/// The kind of addresses on the way to the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    fn of(ip: IpAddr) -> Self {
        if ip.to_canonical().is_ipv4() { Self::V4 } else { Self::V6 }
    }

    /// All addresses of this host.
    pub(super) fn any(self, port: u16) -> SocketAddr {
        match self {
            Self::V4 => (Ipv4Addr::UNSPECIFIED, port).into(),
            Self::V6 => (Ipv6Addr::UNSPECIFIED, port).into(),
        }
    }
}

/// The side of the pushes that epochs see.
#[derive(Debug)]
pub(in crate::transport::http) struct Pushes {
    settings: UdpPush,
    /// 0 = nobody listens.
    port: AtomicU16,
    route: watch::Sender<Option<Family>>,
    state: Mutex<State>,
    pub(super) counters: PushCounters,
}

#[derive(Debug, Default)]
struct State {
    serving: Option<Epoch>,
    /// Where servers were reached, the latest last.
    servers: VecDeque<IpAddr>,
}

impl Pushes {
    pub(in crate::transport::http) fn new(settings: UdpPush) -> Self {
        Self {
            settings,
            port: AtomicU16::new(0),
            route: watch::Sender::new(None),
            state: Mutex::default(),
            counters: PushCounters::default(),
        }
    }

    pub(in crate::transport::http) const fn settings(&self) -> &UdpPush {
        &self.settings
    }

    /// The port that servers are to be told, 0 for none.
    pub(in crate::transport::http) fn port(&self) -> u16 {
        self.port.load(Ordering::Relaxed)
    }

    /// A server was reached at the address `peer`, from `local_ip`: its packets are believed, and that is where they come.
    pub(in crate::transport::http) fn reached(&self, peer: &str, local_ip: Option<IpAddr>) {
        let Ok(peer) = peer.parse::<SocketAddr>() else { return };
        let server = peer.ip().to_canonical();
        let family = Some(Family::of(local_ip.unwrap_or(server)));
        // Before the first answer, so that the first query can name the port.
        self.route.send_if_modified(|route| std::mem::replace(route, family) != family);
        let servers = &mut self.state().servers;
        if let Some(at) = servers.iter().position(|known| *known == server) {
            servers.remove(at);
        } else if servers.len() == SERVERS {
            servers.pop_front();
        }
        servers.push_back(server);
    }

    /// Pushes belong to `epoch` from now on, which was announced.
    pub(in crate::transport::http) fn begin(&self, epoch: Epoch) {
        self.state().serving = Some(epoch);
    }

    /// Nothing is pushed any more when this returns, until the next epoch begins.
    pub(in crate::transport::http) fn end(&self) {
        self.state().serving = None;
    }

    /// What came so far.
    pub(in crate::transport::http) fn counts(&self) -> TransportCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        TransportCounts {
            pushes: read(&self.counters.pushes),
            unreadable: read(&self.counters.unreadable),
            unknown: read(&self.counters.unknown),
            foreign: read(&self.counters.foreign),
            push_sockets_lost: read(&self.counters.sockets_lost),
            ..TransportCounts::default()
        }
    }

    pub(super) fn announce(&self, port: u16) {
        self.port.store(port, Ordering::Relaxed);
    }

    pub(super) fn route(&self) -> watch::Receiver<Option<Family>> {
        self.route.subscribe()
    }

    pub(super) fn knows_senders(&self) -> bool {
        self.settings.senders == PushSenders::Servers
    }

    pub(super) fn believes(&self, sender: IpAddr) -> bool {
        !self.knows_senders() || self.state().servers.contains(&sender.to_canonical())
    }

    /// Hands a list over. `false` if no epoch serves.
    pub(super) fn deliver(&self, handler: &dyn EventHandler, sender: SocketAddr, info: ServiceInfo) -> bool {
        // Held while it is handed over, so that nothing follows the end of an epoch.
        let state = self.state();
        let Some(epoch) = state.serving else { return false };
        self.counters.pushes.fetch_add(1, Ordering::Relaxed);
        handler.handle(Event::Push { epoch, origin: Origin::Datagram(sender), info });
        true
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every critical section leaves a whole value, even if it panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What came by UDP, counted over all epochs of a transport.
#[derive(Debug, Default)]
pub(super) struct PushCounters {
    pushes: AtomicU64,
    unreadable: AtomicU64,
    unknown: AtomicU64,
    foreign: AtomicU64,
    sockets_lost: AtomicU64,
}

impl PushCounters {
    pub(super) fn unreadable(&self) {
        self.unreadable.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn unknown(&self) {
        self.unknown.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn foreign(&self) {
        self.foreign.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn lost_socket(&self) {
        self.sockets_lost.fetch_add(1, Ordering::Relaxed);
    }
}

/// All lists by `group@@name`, as a JSON text; empty if it is too long for a packet.
pub(super) fn dump(lists: &[ServiceInfo]) -> String {
    let by_key: BTreeMap<String, &ServiceInfo> =
        lists.iter().filter_map(|list| list.key().map(|(group, name)| (format!("{group}@@{name}"), list))).collect();
    // Texts, numbers and maps of texts: writing them to memory cannot fail.
    let text = serde_json::to_string(&by_key).unwrap_or_default();
    if text.len() > LONGEST_DUMP { String::new() } else { text }
}
