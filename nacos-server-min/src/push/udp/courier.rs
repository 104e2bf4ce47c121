use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::sync::Notify;

use super::agent::{self, Family};
use super::packet::{self, MAX_DATAGRAM, Packet, SMALL_BUFFER};
use super::subscribers::{Key, Limits, Polled, Step, Subscribers, UdpSubscriber};
use crate::config::Settings;
use crate::context::Context;
use crate::fault::PushMode;
use crate::registry::{Client, KeyRef, Registry, Service, ServiceRef, Sink, View};

/// A new subscriber's first list waits so long, so that the answer to its question comes first.
const FIRST_LIST_AFTER: Duration = Duration::from_millis(100);
/// Differently filtered lists of one service that are pushed.
const MAX_FILTERS: usize = 16;
/// Longer texts than these name no real subscriber.
const MAX_FILTER: usize = 4 * 1024;
const MAX_NAME: usize = 256;
/// Lists larger than this are not even compressed, to see whether they would fit.
const MAX_LIST: usize = 2 * 1024 * 1024;
/// No instance takes less in a list.
const LEAST_INSTANCE: usize = 200;
/// An acknowledgement is far shorter.
const MAX_ACK: usize = 1_024;
/// So many packets are sent before acknowledgements are looked at again.
const SENT_AT_ONCE: usize = 32;
/// So many datagrams are taken before lists are sent again, however many there are.
const TAKEN_AT_ONCE: usize = 256;
/// Between two attempts to receive when the socket fails.
const RECEIVE_PAUSE: Duration = Duration::from_millis(100);

/// A question for a list, with a port for pushes in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Polling<'a> {
    pub(crate) service: KeyRef<'a>,
    pub(crate) clusters: &'a str,
    /// Where the list is to go.
    pub(crate) target: SocketAddr,
    pub(crate) agent: &'a str,
    pub(crate) app: &'a str,
}

/// A service that somebody is subscribed to, and the packets of its newest list by filter.
struct Watched {
    service: Arc<Service>,
    view: Option<Arc<View>>,
    /// `None` for a list that is too large.
    packets: Vec<(Arc<str>, Option<Packet>)>,
}

struct State {
    subscribers: Subscribers,
    watched: HashMap<usize, Watched>,
    last_stamp: i64,
    /// That a list is too large was told.
    size_noted: bool,
}

/// Pushes lists by UDP. To the registry it is one client, subscribed to every service that anybody asked for with a port.
pub(crate) struct Courier {
    client: Arc<Client>,
    state: Mutex<State>,
    woken: Notify,
    /// Held while the registry and `state` are brought to agree on a subscription; taken before any other lock.
    registering: Mutex<()>,
}

impl std::fmt::Debug for Courier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Courier").finish_non_exhaustive()
    }
}

/// The registry's end of it: the courier holds services, so what services hold must not hold the courier.
struct Ear(Weak<Context>);

impl Sink for Ear {
    fn subscribed(&self, _service: &Arc<Service>, _clusters: Option<&Arc<str>>, _first: bool) {}

    fn unsubscribed(&self, _service: &Arc<Service>) {}

    fn changed(&self, service: &Arc<Service>) {
        let Some(context) = self.0.upgrade() else { return };
        let at = context.clock.ticks() + context.fault.push_delay();
        context.udp.lock().subscribers.changed(ServiceRef::address(service), at);
        context.udp.woken.notify_one();
    }
}

impl Courier {
    pub(crate) fn new(registry: &Registry, settings: &Settings, context: Weak<Context>) -> Self {
        let limits = Limits { subscriptions: settings.max_udp_subscriptions, filters: MAX_FILTERS };
        let subscribers = Subscribers::new(settings.udp, limits);
        let state = State { subscribers, watched: HashMap::new(), last_stamp: 0, size_noted: false };
        Self {
            client: registry.open_client("udp", Some(Arc::new(Ear(context)))),
            state: Mutex::new(state),
            woken: Notify::new(),
            registering: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Subscriptions, and the services they are of.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        let state = self.lock();
        (state.subscribers.len(), state.watched.len())
    }

    /// Who is subscribed to the service, by address and filter.
    pub(crate) fn subscribers(&self, service: &Arc<Service>) -> Vec<UdpSubscriber> {
        let mut all: Vec<UdpSubscriber> = self.lock().subscribers.of(ServiceRef::address(service)).collect();
        all.sort_unstable_by(|a, b| (a.target, &a.clusters).cmp(&(b.target, &b.clusters)));
        all
    }

    /// Pushes that were held may flow again.
    pub(crate) fn nudge(&self) {
        self.lock().subscribers.release();
        self.woken.notify_one();
    }

    // === subscriptions ===

    /// Subscribes whoever asked, or keeps its subscription alive.
    pub(crate) fn polled(&self, context: &Context, polling: Polling<'_>) {
        if !self.subscribe(context, polling) {
            context.counters.udp_refused.add();
            tracing::debug!(target_addr = %polling.target, service = polling.service.name, "not subscribed by UDP");
        }
    }

    fn subscribe(&self, context: &Context, polling: Polling<'_>) -> bool {
        let Polling { service: key, clusters, target, agent, app } = polling;
        let known = context.oddities.is_none() || agent::is_known(agent, &context.switches());
        if !known || !is_one_host(target.ip()) || clusters.len() > MAX_FILTER {
            return false;
        }
        let names = &context.registry.names;
        let who = UdpSubscriber {
            target: within_reach(context.http_addr.ip(), canonical(target)),
            clusters: names.intern(clusters),
            agent: names.intern(shortened(agent)),
            app: names.intern(shortened(app)),
        };
        let now = context.clock.ticks();
        let service = context.registry.find(key);
        if service.is_some_and(|service| self.lock().subscribers.refresh(ServiceRef::address(&service), &who, now)) {
            return true;
        }
        let registering = self.registering.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok((service, first_of_all)) = context.registry.subscribe(&self.client, key, None) else { return false };
        let first = match &context.oddities {
            None => Some(now + FIRST_LIST_AFTER),
            // The delayed pushes begin with one for the registry's new subscriber by themselves.
            Some(_) if first_of_all => None,
            Some(oddities) => Some(now + oddities.merge_delay()),
        };
        let address = ServiceRef::address(&service);
        let polled = {
            let mut state = self.lock();
            state.watched.entry(address).or_insert_with(|| Watched { service, view: None, packets: Vec::new() });
            state.subscribers.poll(address, &who, now, first)
        };
        self.unwatch(context, &registering);
        self.woken.notify_one();
        polled != Polled::Refused
    }

    /// Takes back what the registry was asked to tell of services that nobody is subscribed to any more.
    fn unwatch(&self, context: &Context, _registering: &MutexGuard<'_, ()>) {
        loop {
            let left = {
                let mut state = self.lock();
                let Some(address) = state.subscribers.left() else { return };
                state.watched.remove(&address)
            };
            if let Some(watched) = left {
                context.registry.unsubscribe(&self.client, watched.service.key());
            }
        }
    }

    // === the socket ===

    /// Runs until dropped.
    pub(crate) async fn run(&self, context: Arc<Context>, socket: UdpSocket) {
        let mut buffer = [0; MAX_ACK];
        loop {
            let next = self.deliver(&context, &socket).await;
            let due = async {
                match next {
                    Some(at) => tokio::time::sleep_until(context.clock.at(at)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                ready = socket.readable(), if !context.fault.gate.is_shut() => match ready {
                    Ok(()) => self.receive(&context, &socket, &mut buffer).await,
                    Err(_) => tokio::time::sleep(RECEIVE_PAUSE).await,
                },
                () = self.woken.notified() => {}
                () = due => {}
            }
        }
    }

    /// Sends what is due, and says when something will be.
    async fn deliver(&self, context: &Context, socket: &UdpSocket) -> Option<Duration> {
        let mut buffer = [0; MAX_ACK];
        for sent in 1.. {
            let held = context.pushes_are_held() || context.fault.gate.is_shut();
            let step = self.lock().subscribers.step(context.clock.ticks(), held);
            match step {
                Step::Newest(key, agent) => {
                    let packet = self.packet(context, &key).filter(|packet| fits(packet, &agent));
                    let sent = match packet {
                        Some(packet) => self.send(context, socket, key.target, &packet).await.then_some(packet),
                        None => {
                            context.counters.udp_too_large.add();
                            None
                        }
                    };
                    self.lock().subscribers.sent(&key, sent, context.clock.ticks());
                }
                Step::Again(target, packet) => {
                    context.counters.udp_pushes_repeated.add();
                    self.send(context, socket, target, &packet).await;
                }
                Step::GaveUp(target) => {
                    context.counters.udp_unacknowledged.add();
                    tracing::debug!(target_addr = %target, "a subscriber by UDP acknowledges nothing, and is forgotten");
                }
                Step::Wait(next) => {
                    let registering = self.registering.lock().unwrap_or_else(PoisonError::into_inner);
                    self.unwatch(context, &registering);
                    return next;
                }
            }
            if sent % SENT_AT_ONCE == 0 {
                self.receive(context, socket, &mut buffer).await;
            }
        }
        None
    }

    /// The packet of the newest list, made once for all who have this filter. `None`: it is too large.
    fn packet(&self, context: &Context, key: &Key) -> Option<Packet> {
        let service = Arc::clone(&self.lock().watched.get(&key.service)?.service);
        // The list is read without holding the lock, since writers lock in the other order.
        if context.oddities.is_some() {
            context.registry.renew(&service, context.clock.wall_ms());
        }
        let view = context.registry.view(&service, context.clock.wall_ms());
        {
            let mut state = self.lock();
            let watched = state.watched.get_mut(&key.service)?;
            if watched.view.as_ref().is_some_and(|known| Arc::ptr_eq(known, &view)) {
                if let Some((_, packet)) = watched.packets.iter().find(|(clusters, _)| *clusters == key.clusters) {
                    return packet.clone();
                }
            } else {
                watched.view = Some(Arc::clone(&view));
                watched.packets.clear();
            }
        }
        let stamp = self.stamp(context);
        let packet = list(context, &service, &view, &key.clusters).map(|list| Packet::new(&list, stamp));
        let packet = packet.filter(|packet| packet.bytes.len() <= MAX_DATAGRAM);
        let mut state = self.lock();
        if packet.is_none() && !std::mem::replace(&mut state.size_noted, true) {
            tracing::warn!(
                service = %service.name,
                group = %service.group,
                instances = view.len(),
                "a list is too large for a datagram: subscribers by UDP have it with their next question; this is told once"
            );
        }
        let watched = state.watched.get_mut(&key.service)?;
        watched.packets.push((Arc::clone(&key.clusters), packet.clone()));
        packet
    }

    /// A number that no packet had before.
    fn stamp(&self, context: &Context) -> i64 {
        let now = i64::try_from(context.clock.ticks().as_nanos()).unwrap_or(i64::MAX);
        let mut state = self.lock();
        state.last_stamp = now.max(state.last_stamp + 1);
        state.last_stamp
    }

    /// False if the system would not send it.
    async fn send(&self, context: &Context, socket: &UdpSocket, target: SocketAddr, packet: &Packet) -> bool {
        context.counters.udp_pushes.add();
        if context.fault.push_mode() == PushMode::Drop {
            context.counters.pushes_dropped.add();
            return true;
        }
        let target = match (socket.local_addr(), target.ip()) {
            (Ok(SocketAddr::V6(_)), IpAddr::V4(v4)) => SocketAddr::new(v4.to_ipv6_mapped().into(), target.port()),
            _ => target,
        };
        let sent = socket.send_to(&packet.bytes, target).await;
        if let Err(error) = &sent {
            context.counters.udp_failed.add();
            tracing::debug!(target_addr = %target, %error, "a datagram could not be sent");
        }
        sent.is_ok()
    }

    /// Takes the acknowledgements that are there.
    async fn receive(&self, context: &Context, socket: &UdpSocket, buffer: &mut [u8; MAX_ACK]) {
        for _ in 0..TAKEN_AT_ONCE {
            match socket.try_recv_from(buffer) {
                Ok((length, source)) => {
                    let stamp = buffer.get(..length).and_then(packet::acknowledged);
                    let now = context.clock.ticks();
                    let known = stamp.is_some_and(|stamp| self.lock().subscribers.acked(canonical(source), stamp, now));
                    let counter = if known { &context.counters.udp_acks } else { &context.counters.udp_ignored };
                    counter.add();
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(error) => {
                    tracing::debug!(%error, "receiving by UDP failed");
                    return tokio::time::sleep(RECEIVE_PAUSE).await;
                }
            }
        }
    }
}

/// The list as JSON; `None` if it is hopelessly large.
fn list(context: &Context, service: &Arc<Service>, view: &View, clusters: &str) -> Option<bytes::Bytes> {
    if view.listed(Some(clusters), false).count() > MAX_LIST / LEAST_INSTANCE {
        return None;
    }
    let list = context.list_for_datagram(service, view, clusters);
    (list.len() <= MAX_LIST).then_some(list)
}

/// Whether the receiver can read it.
fn fits(packet: &Packet, agent: &str) -> bool {
    packet.bytes.len() <= SMALL_BUFFER || agent::family(agent) != Some(Family::Go)
}

/// Nobody may let us send to many at once.
fn is_one_host(ip: IpAddr) -> bool {
    let broadcast = matches!(ip, IpAddr::V4(v4) if v4.is_broadcast());
    !ip.is_unspecified() && !ip.is_multicast() && !broadcast
}

/// A socket at the loopback address reaches this host alone. Whatever address of this host a client gave, loopback leads to
/// it as well, and is where its acknowledgements come from.
fn within_reach(own: IpAddr, target: SocketAddr) -> SocketAddr {
    if own.is_loopback() && !target.ip().is_loopback() { SocketAddr::new(own, target.port()) } else { target }
}

/// An address of the older family inside of one of the newer is the former.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

fn shortened(text: &str) -> &str {
    text.char_indices().nth(MAX_NAME).map_or(text, |(end, _)| text.get(..end).unwrap_or_default())
}
