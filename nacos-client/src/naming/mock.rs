//! A scripted registry in memory: what a server does, with delays, refusals, lost answers and lost connections.
//!
//! It keeps one record per connection and service, runs the calls of a connection in parallel, pushes whole lists, and
//! has stamps from a clock of its own. Time is tokio's, so tests pause it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use nacos_proto::grpc::ServiceInfo;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::config::{ClientConfig, Protocol};
use crate::model::{Instance, ServiceKey};
use crate::naming::NamingService;
use crate::transport::{
    Abilities, Call, CallError, Dialect, Epoch, Event, EventHandler, Freshness, Handover, LinkFault, NamingTransport,
    Origin, Phase, Refusal, RefusalShape, Reply, Session, SessionInfo, StartError, TransportCounts, TransportStatus,
};

/// How the registry treats one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Obey,
    /// Refused with this code, not done.
    Refuse(i32),
    /// Answered with this code, but done all the same.
    DoneButSays(i32),
    /// Never answered.
    Ignore,
}

/// Where datagrams come from.
const SENDER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9);

type Script = Box<dyn FnMut(&Call) -> Fate + Send>;

#[derive(Default)]
struct State {
    handler: Option<Arc<dyn EventHandler>>,
    epoch: u64,
    connections: BTreeMap<u64, Connection>,
    foreign: HashMap<ServiceKey, Vec<Arc<Instance>>>,
    persistent: HashMap<ServiceKey, Vec<Arc<Instance>>>,
    clock: i64,
    log: Vec<(u64, Call)>,
    /// Mutating calls under way, by connection and service, and whether two ever were for one.
    writing: HashSet<(u64, ServiceKey)>,
    overlapped: bool,
    writes_now: usize,
    writes_most: usize,
    closed: bool,
    /// Lists are polled, and pushes are datagrams.
    polled: bool,
    /// No datagram arrives.
    datagrams_lost: bool,
    cache_millis: Option<i64>,
    /// Lists say nothing of instances.
    hostless: bool,
}

struct Connection {
    ended: CancellationToken,
    records: HashMap<ServiceKey, Vec<Arc<Instance>>>,
    subscribed: HashSet<ServiceKey>,
}

/// The registry, and the transport to it.
pub(crate) struct Mock {
    state: Mutex<State>,
    script: Mutex<Script>,
    rng: Mutex<fastrand::Rng>,
    latency: Duration,
    pub(crate) dialect: Dialect,
    status: watch::Sender<TransportStatus>,
    me: std::sync::Weak<Self>,
}

impl Mock {
    /// Obeys all calls, each way taking up to `latency`.
    pub(crate) fn new(seed: u64, latency: Duration, dialect: Dialect) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            state: Mutex::new(State { clock: 1_000_000, ..State::default() }),
            script: Mutex::new(Box::new(|_| Fate::Obey)),
            rng: Mutex::new(fastrand::Rng::with_seed(seed)),
            latency,
            dialect,
            status: watch::Sender::new(TransportStatus::idle()),
            me: me.clone(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// A client of this registry.
    pub(crate) fn client(&self) -> NamingService {
        self.client_with(config())
    }

    pub(crate) fn client_with(&self, config: ClientConfig) -> NamingService {
        NamingService::with_transport(config, self.me.upgrade().unwrap())
    }

    pub(crate) fn script(&self, script: impl FnMut(&Call) -> Fate + Send + 'static) {
        *self.script.lock().unwrap() = Box::new(script);
    }

    pub(crate) fn with_rng<R>(&self, draw: impl FnOnce(&mut fastrand::Rng) -> R) -> R {
        draw(&mut self.rng.lock().unwrap())
    }

    /// From the next connection on, lists are polled every `cache_millis` and pushes are datagrams, which may be `lost`.
    pub(crate) fn poll(&self, cache_millis: Option<i64>, lost: bool) {
        let mut state = self.state();
        (state.polled, state.datagrams_lost, state.cache_millis) = (true, lost, cache_millis);
    }

    /// Whether lists say nothing of instances, as of services that a proxy or an odd server has no word for.
    pub(crate) fn leave_hosts_out(&self, hostless: bool) {
        self.state().hostless = hostless;
    }

    /// From the next connection on, the server pushes.
    pub(crate) fn push_instead(&self) {
        self.state().polled = false;
    }

    fn freshness(&self) -> Freshness {
        if self.state().polled { Freshness::Polled } else { Freshness::Pushed }
    }

    /// A connection comes up. Nothing happens before the client has started its transport.
    pub(crate) fn connect(&self) -> u64 {
        self.connect_as(false)
    }

    /// A connection comes up beside the present one, as after a request to move.
    pub(crate) fn connect_handover(&self) -> (u64, CancellationToken) {
        let old = self.state().epoch;
        let epoch = self.connect_as(true);
        let released = self.state().connections.get(&old).unwrap().ended.clone();
        (epoch, released)
    }

    fn connect_as(&self, handover: bool) -> u64 {
        let (handler, epoch, handover) = {
            let mut state = self.state();
            let old = state.epoch;
            state.epoch += 1;
            let epoch = state.epoch;
            let (ended, records, subscribed) = Default::default();
            state.connections.insert(epoch, Connection { ended, records, subscribed });
            let handover = handover.then(|| {
                let release = CancellationToken::new();
                let me = self.me.clone();
                let released = release.clone();
                tokio::spawn(async move {
                    released.cancelled().await;
                    if let Some(me) = me.upgrade() {
                        me.end(old, LinkFault::Replaced);
                    }
                });
                Handover::new(Epoch(old), release)
            });
            (state.handler.clone().expect("started"), epoch, handover)
        };
        let session =
            Arc::new(MockSession { info: info(self.dialect, self.freshness()), epoch, mock: self.me.clone() });
        handler.handle(Event::Connected { session, handover });
        epoch
    }

    /// The present connection ends, for both sides.
    pub(crate) fn disconnect(&self) {
        let epoch = self.state().epoch;
        self.end(epoch, LinkFault::Transport(None));
    }

    fn end(&self, epoch: u64, fault: LinkFault) {
        let (handler, connection) = {
            let mut state = self.state();
            (state.handler.clone(), state.connections.remove(&epoch))
        };
        let (Some(handler), Some(connection)) = (handler, connection) else { return };
        connection.ended.cancel();
        handler.handle(Event::Disconnected { epoch: Epoch(epoch), cause: fault.at(&Arc::from("mock:1")) });
        for key in connection.records.keys() {
            self.push(key);
        }
    }

    pub(crate) fn is_started(&self) -> bool {
        self.state().handler.is_some()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Other clients change their instances of a service; subscribers are told unless `silently`.
    pub(crate) fn set_foreign(&self, key: &ServiceKey, ports: &[u16], silently: bool) {
        self.state().foreign.insert(key.clone(), ports.iter().map(|p| Arc::new(Instance::new(("f", *p)))).collect());
        if !silently {
            self.push(key);
        }
    }

    pub(crate) fn set_foreign_instances(&self, key: &ServiceKey, instances: Vec<Instance>) {
        self.state().foreign.insert(key.clone(), instances.into_iter().map(Arc::new).collect());
        self.push(key);
    }

    /// The clock of the server moves.
    pub(crate) fn step_clock(&self, by: i64) {
        self.state().clock += by;
    }

    /// An operator removes every persistent instance.
    pub(crate) fn drop_persistent(&self) {
        self.state().persistent.clear();
    }

    /// The ports that all connections hold for a service.
    pub(crate) fn held(&self, key: &ServiceKey) -> Vec<u16> {
        let state = self.state();
        let records = state.connections.values().filter_map(|c| c.records.get(key)).flatten();
        let mut ports: Vec<u16> = records.map(|i| i.port).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    pub(crate) fn held_instances(&self, key: &ServiceKey) -> Vec<Arc<Instance>> {
        let state = self.state();
        let mut all: Vec<_> =
            state.connections.values().filter_map(|c| c.records.get(key)).flatten().cloned().collect();
        all.sort_by(|a, b| a.cmp_key(b));
        all
    }

    pub(crate) fn persistent(&self, key: &ServiceKey) -> Vec<u16> {
        self.state().persistent.get(key).into_iter().flatten().map(|i| i.port).collect()
    }

    pub(crate) fn subscribers(&self, key: &ServiceKey) -> usize {
        self.state().connections.values().filter(|c| c.subscribed.contains(key)).count()
    }

    /// The calls received since the last time this was asked, with the number of their connection.
    pub(crate) fn take_log(&self) -> Vec<(u64, Call)> {
        std::mem::take(&mut self.state().log)
    }

    /// Whether two mutating calls of one service were ever under way on one connection.
    pub(crate) fn overlapped(&self) -> bool {
        self.state().overlapped
    }

    /// The most mutating calls that were ever under way together.
    pub(crate) fn writes_most(&self) -> usize {
        self.state().writes_most
    }

    fn list(state: &mut State, key: &ServiceKey) -> ServiceInfo {
        state.clock += 1;
        let own = state.connections.values().filter_map(|c| c.records.get(key)).flatten();
        let all = own.chain(state.foreign.get(key).into_iter().flatten());
        let all = all.chain(state.persistent.get(key).into_iter().flatten());
        ServiceInfo {
            name: Some(key.name().to_owned()),
            group_name: Some(key.group().to_owned()),
            hosts: (!state.hostless).then(|| all.map(|i| i.to_wire()).collect()),
            last_ref_time: state.clock,
            cache_millis: state.cache_millis,
            ..ServiceInfo::default()
        }
    }

    /// Pushes the list of a service to all who subscribed it.
    pub(crate) fn push(&self, key: &ServiceKey) {
        let (handler, origin, info, epochs) = {
            let mut state = self.state();
            if state.polled && state.datagrams_lost {
                return;
            }
            let origin = if state.polled { Origin::Datagram(SENDER) } else { Origin::Stream };
            let info = Self::list(&mut state, key);
            let to = state.connections.iter().filter(|(_, c)| c.subscribed.contains(key));
            let epochs: Vec<u64> = to.map(|(epoch, _)| *epoch).collect();
            (state.handler.clone(), origin, info, epochs)
        };
        let Some(handler) = handler else { return };
        for epoch in epochs {
            handler.handle(Event::Push { epoch: Epoch(epoch), origin, info: info.clone() });
        }
    }

    /// Gives the client an arbitrary list as a push.
    pub(crate) fn push_raw(&self, epoch: u64, info: ServiceInfo) {
        let handler = self.state().handler.clone();
        handler.expect("started").handle(Event::Push { epoch: Epoch(epoch), origin: Origin::Stream, info });
    }

    async fn pause(&self) {
        let wait = self.latency.mul_f64(self.with_rng(fastrand::Rng::f64));
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    async fn run(self: Arc<Self>, epoch: u64, call: Call) -> Result<Reply, CallError> {
        let link = || CallError::Link(LinkFault::Closed.at(&Arc::from("mock:1")));
        let Some(ended) = self.state().connections.get(&epoch).map(|c| c.ended.clone()) else { return Err(link()) };
        tokio::select! {
            biased;
            () = ended.cancelled() => Err(link()),
            answer = self.serve(epoch, call) => answer,
        }
    }

    async fn serve(self: &Arc<Self>, epoch: u64, call: Call) -> Result<Reply, CallError> {
        let writing = written(&call).map(|key| (epoch, key.clone()));
        let _guard = writing.map(|own| WriteGuard::new(self, own));
        self.pause().await;
        self.state().log.push((epoch, call.clone()));
        let fate = (self.script.lock().unwrap())(&call);
        let answer = match fate {
            Fate::Refuse(code) => Err(refused(code)),
            Fate::Ignore => std::future::pending().await,
            Fate::Obey => Ok(self.obey(epoch, call)),
            Fate::DoneButSays(code) => {
                self.obey(epoch, call);
                Err(refused(code))
            }
        };
        self.pause().await;
        answer
    }

    fn obey(&self, epoch: u64, call: Call) -> Reply {
        let (key, reply) = {
            let mut guard = self.state();
            let state = &mut *guard;
            let Some(connection) = state.connections.get_mut(&epoch) else { return Reply::Done };
            let adds = self.dialect == Dialect::Adding;
            match call {
                Call::Register { key, instance } => {
                    put(connection.records.entry(key.clone()).or_default(), vec![instance], adds);
                    (Some(key), Reply::Done)
                }
                Call::RegisterBatch { key, instances } => {
                    put(connection.records.entry(key.clone()).or_default(), instances, adds);
                    (Some(key), Reply::Done)
                }
                Call::Deregister { key, instance } if adds => {
                    let record = connection.records.entry(key.clone()).or_default();
                    record.retain(|i| (i.port, &i.ip) != (instance.port, &instance.ip));
                    (Some(key), Reply::Done)
                }
                Call::Deregister { key, .. } => {
                    connection.records.remove(&key);
                    (Some(key), Reply::Done)
                }
                Call::RegisterPersistent { key, instance } => {
                    put(state.persistent.entry(key.clone()).or_default(), vec![instance], true);
                    (Some(key), Reply::Done)
                }
                Call::DeregisterPersistent { key, instance } => {
                    state.persistent.entry(key.clone()).or_default().retain(|i| i.port != instance.port);
                    (Some(key), Reply::Done)
                }
                Call::Subscribe { key } => {
                    connection.subscribed.insert(key.clone());
                    (None, Reply::Service(Some(Self::list(state, &key))))
                }
                Call::Unsubscribe { key } => {
                    connection.subscribed.remove(&key);
                    (None, Reply::Done)
                }
                Call::Query { key } => (None, Reply::Service(Some(Self::list(state, &key)))),
                Call::List { page, size, .. } => {
                    let mut names: Vec<String> = state.foreign.keys().map(|k| k.name().to_owned()).collect();
                    names.sort();
                    let (count, at) = (names.len(), (page as usize - 1) * size as usize);
                    (None, Reply::Services { count, names: names.into_iter().skip(at).take(size as usize).collect() })
                }
            }
        };
        if let Some(key) = key {
            self.push(&key);
        }
        reply
    }
}

fn put(record: &mut Vec<Arc<Instance>>, instances: Vec<Arc<Instance>>, adds: bool) {
    if adds {
        record.retain(|old| !instances.iter().any(|new| (old.port, &old.ip) == (new.port, &new.ip)));
        record.extend(instances);
    } else {
        *record = instances;
    }
}

fn written(call: &Call) -> Option<&ServiceKey> {
    match call {
        Call::Register { key, .. } | Call::RegisterBatch { key, .. } | Call::Deregister { key, .. } => Some(key),
        Call::RegisterPersistent { key, .. } | Call::DeregisterPersistent { key, .. } => Some(key),
        Call::Subscribe { .. } | Call::Unsubscribe { .. } | Call::Query { .. } | Call::List { .. } => None,
    }
}

/// Notes a mutating call as long as it is under way.
struct WriteGuard {
    mock: Arc<Mock>,
    own: (u64, ServiceKey),
}

impl WriteGuard {
    fn new(mock: &Arc<Mock>, own: (u64, ServiceKey)) -> Self {
        let mut state = mock.state();
        if !state.writing.insert(own.clone()) {
            state.overlapped = true;
        }
        state.writes_now += 1;
        state.writes_most = state.writes_most.max(state.writes_now);
        drop(state);
        Self { mock: Arc::clone(mock), own }
    }
}

impl Drop for WriteGuard {
    fn drop(&mut self) {
        let mut state = self.mock.state();
        state.writing.remove(&self.own);
        state.writes_now -= 1;
    }
}

fn refused(code: i32) -> CallError {
    CallError::Refused(Refusal { code, message: "scripted".to_owned(), shape: RefusalShape::Typed })
}

fn info(dialect: Dialect, freshness: Freshness) -> SessionInfo {
    let abilities = Abilities { negotiated: true, persistent: true };
    let (server, peer, connection_id) = (Arc::from("mock:1"), Arc::from("127.0.0.1:1"), Arc::from("c"));
    let protocol = if freshness == Freshness::Polled { Protocol::Http } else { Protocol::Grpc };
    SessionInfo { server, peer, local_ip: None, connection_id, abilities, dialect, protocol, freshness }
}

struct MockSession {
    info: SessionInfo,
    epoch: u64,
    mock: std::sync::Weak<Mock>,
}

impl Session for MockSession {
    fn epoch(&self) -> Epoch {
        Epoch(self.epoch)
    }

    fn info(&self) -> &SessionInfo {
        &self.info
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Result<Reply, CallError>> {
        match self.mock.upgrade() {
            Some(mock) => mock.run(self.epoch, call).boxed(),
            None => std::future::pending().boxed(),
        }
    }
}

/// A session without a server behind it.
pub(crate) fn session(epoch: u64) -> Arc<dyn Session> {
    Arc::new(MockSession { info: info(Dialect::Replacing, Freshness::Pushed), epoch, mock: std::sync::Weak::new() })
}

/// The same for a server that adds.
pub(crate) fn adding_session(epoch: u64) -> Arc<dyn Session> {
    Arc::new(MockSession { info: info(Dialect::Adding, Freshness::Polled), epoch, mock: std::sync::Weak::new() })
}

/// The defaults, with any server.
pub(crate) fn config() -> ClientConfig {
    ClientConfig::builder().servers(["mock"]).build().unwrap()
}

impl NamingTransport for Mock {
    fn start(&self, handler: Arc<dyn EventHandler>) -> Result<(), StartError> {
        self.state().handler = Some(handler);
        Ok(())
    }

    fn status(&self) -> watch::Receiver<TransportStatus> {
        self.status.subscribe()
    }

    fn counts(&self) -> TransportCounts {
        TransportCounts::default()
    }

    fn close(&self, _deadline: Duration) -> BoxFuture<'static, bool> {
        let (epochs, handler): (Vec<u64>, _) = {
            let mut state = self.state();
            state.closed = true;
            (state.connections.keys().copied().collect(), state.handler.clone())
        };
        for epoch in epochs {
            self.end(epoch, LinkFault::Closed);
        }
        self.state().handler = None;
        drop(handler);
        self.status.send_modify(|status| status.phase = Phase::Closed);
        std::future::ready(true).boxed()
    }
}
