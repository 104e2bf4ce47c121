//! The choice over scripted transports, on paused time, and with naming above it.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use nacos_proto::grpc::ServiceInfo;
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{
    config::{ClientConfig, EmptyPolicy, Protocol},
    model::{Instance, Select, ServiceKey},
    naming::{ConnectionStatus, NamingService, mock::Mock},
    transport::{
        Abilities, Call, CallError, Dialect, Epoch, Event, EventHandler, Freshness, Handover, LinkFault,
        NamingTransport, Origin, Phase, Reply, Session, SessionInfo, StartError, TransportCounts, TransportStatus,
    },
};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// A transport that does what the test says.
struct Scripted {
    protocol: Protocol,
    handler: Mutex<Option<Arc<dyn EventHandler>>>,
    status: watch::Sender<TransportStatus>,
    /// How it was ended.
    ended: Mutex<Vec<&'static str>>,
    /// The newest connection.
    epoch: Mutex<u64>,
}

impl Scripted {
    fn new(protocol: Protocol) -> Arc<Self> {
        let (handler, ended, epoch) = Default::default();
        Arc::new(Self { protocol, handler, status: watch::Sender::new(TransportStatus::idle()), ended, epoch })
    }

    fn tell(&self, event: Event) {
        let handler = self.handler.lock().unwrap().clone();
        handler.expect("started").handle(event);
    }

    fn up_as(&self, dialect: Dialect, handover: Option<Handover>) -> u64 {
        let epoch = {
            let mut epoch = self.epoch.lock().unwrap();
            *epoch += 1;
            *epoch
        };
        let freshness = if self.protocol == Protocol::Http { Freshness::Polled } else { Freshness::Pushed };
        let info = SessionInfo {
            server: Arc::from("scripted:1"),
            peer: Arc::from("127.0.0.1:1"),
            local_ip: None,
            connection_id: Arc::from(""),
            abilities: Abilities::default(),
            dialect,
            protocol: self.protocol,
            freshness,
        };
        self.tell(Event::Connected { session: Arc::new(ScriptedSession { epoch: Epoch(epoch), info }), handover });
        epoch
    }

    fn up(&self) -> u64 {
        self.up_as(Dialect::Replacing, None)
    }

    fn down(&self, epoch: u64) {
        let cause = LinkFault::Transport(None).at(&Arc::from("127.0.0.1:1"));
        self.tell(Event::Disconnected { epoch: Epoch(epoch), cause });
    }

    fn push(&self, epoch: u64, stamp: i64) {
        let info = ServiceInfo { last_ref_time: stamp, ..Default::default() };
        self.tell(Event::Push { epoch: Epoch(epoch), origin: Origin::Stream, info });
    }

    /// One more attempt failed, because nobody listens.
    fn refused(&self) {
        let error = LinkFault::Connect(Arc::new(io::ErrorKind::ConnectionRefused.into())).at(&Arc::from("there:1"));
        self.status.send_modify(|status| {
            status.failures += 1;
            status.phase = Phase::Waiting;
            status.last_error = Some(error);
        });
    }

    fn is_ended(&self, how: &str) -> bool {
        self.ended.lock().unwrap().contains(&how)
    }

    fn end(&self, how: &'static str) {
        self.ended.lock().unwrap().push(how);
        let handler = self.handler.lock().unwrap().take();
        if let Some(handler) = handler {
            let (epoch, cause) = (Epoch(*self.epoch.lock().unwrap()), LinkFault::Closed.at(&Arc::from("127.0.0.1:1")));
            handler.handle(Event::Disconnected { epoch, cause });
        }
    }
}

impl NamingTransport for Scripted {
    fn start(&self, handler: Arc<dyn EventHandler>) -> Result<(), StartError> {
        *self.handler.lock().unwrap() = Some(handler);
        Ok(())
    }

    fn status(&self) -> watch::Receiver<TransportStatus> {
        self.status.subscribe()
    }

    fn counts(&self) -> TransportCounts {
        TransportCounts { beats: 1, ..TransportCounts::default() }
    }

    fn close(&self, _: Duration) -> BoxFuture<'static, bool> {
        self.end("closed");
        std::future::ready(true).boxed()
    }

    fn abandon(&self, _: Duration) -> BoxFuture<'static, bool> {
        self.end("abandoned");
        std::future::ready(true).boxed()
    }
}

struct ScriptedSession {
    epoch: Epoch,
    info: SessionInfo,
}

impl Session for ScriptedSession {
    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn info(&self) -> &SessionInfo {
        &self.info
    }

    fn call(&self, _: Call) -> BoxFuture<'static, Result<Reply, CallError>> {
        std::future::ready(Ok(Reply::Done)).boxed()
    }
}

struct Tap(mpsc::UnboundedSender<Event>);

impl EventHandler for Tap {
    fn handle(&self, event: Event) {
        let _ = self.0.send(event);
    }
}

/// The choice between scripted transports, and what naming would hear.
struct Bench {
    auto: AutoTransport,
    events: mpsc::UnboundedReceiver<Event>,
    /// Transports that were made and not looked at.
    grpc: Made,
    http: Made,
}

type Made = Arc<Mutex<VecDeque<Arc<Scripted>>>>;

impl Bench {
    fn start(servers: usize) -> Self {
        let (grpc, http) = (Made::default(), Made::default());
        let make = |made: &Made, protocol| {
            let made = Arc::clone(made);
            Box::new(move || {
                let new = Scripted::new(protocol);
                made.lock().unwrap().push_back(Arc::clone(&new));
                new as Arc<dyn NamingTransport>
            })
        };
        let protocols = Protocols { grpc: make(&grpc, Protocol::Grpc), http: make(&http, Protocol::Http) };
        let auto = AutoTransport::new(protocols, servers);
        let (sender, events) = mpsc::unbounded_channel();
        auto.start(Arc::new(Tap(sender))).unwrap();
        Self { auto, events, grpc, http }
    }

    async fn made(made: &Made) -> Arc<Scripted> {
        loop {
            let next = made.lock().unwrap().pop_front();
            match next {
                Some(next) if next.handler.lock().unwrap().is_some() => return next,
                Some(next) => made.lock().unwrap().push_front(next),
                None => {}
            }
            sleep(MS).await;
        }
    }

    async fn grpc(&self) -> Arc<Scripted> {
        timeout(100 * SECOND, Self::made(&self.grpc)).await.expect("gRPC is tried")
    }

    async fn http(&self) -> Arc<Scripted> {
        timeout(100 * SECOND, Self::made(&self.http)).await.expect("HTTP is tried")
    }

    async fn event(&mut self) -> Event {
        timeout(100 * SECOND, self.events.recv()).await.expect("an event").expect("not closed")
    }

    async fn connected(&mut self) -> (Arc<dyn Session>, Option<Handover>) {
        match self.event().await {
            Event::Connected { session, handover } => (session, handover),
            other => panic!("{other:?}"),
        }
    }

    async fn disconnected(&mut self) -> (u64, LinkFault) {
        match self.event().await {
            Event::Disconnected { epoch, cause } => (epoch.0, cause.fault),
            other => panic!("{other:?}"),
        }
    }

    /// A client over HTTP; its epoch is 1.
    async fn over_http(&mut self) -> Arc<Scripted> {
        let (grpc, _) = (self.grpc().await, self.grpc.lock().unwrap().clear());
        grpc.refused();
        let http = self.http().await;
        http.up();
        assert_eq!(self.connected().await.0.info().protocol, Protocol::Http);
        http
    }
}

#[tokio::test(start_paused = true)]
async fn with_grpc_nothing_happens_over_http() {
    let mut bench = Bench::start(1);
    let grpc = bench.grpc().await;
    let epoch = grpc.up();
    let (session, handover) = bench.connected().await;
    assert_eq!((session.epoch(), session.info().protocol), (Epoch(1), Protocol::Grpc));
    assert!(handover.is_none());
    grpc.push(epoch, 7);
    assert!(matches!(bench.event().await, Event::Push { epoch: Epoch(1), info, .. } if info.last_ref_time == 7));
    sleep(1_000 * SECOND).await;
    assert!(bench.http.lock().unwrap().is_empty() && bench.events.is_empty());
}

#[tokio::test(start_paused = true)]
async fn g25_without_grpc_http_serves_within_three_seconds_of_the_start() {
    // Refused, silent, and with several servers.
    for (servers, refusals) in [(1, 1), (3, 3), (1, 0), (3, 1)] {
        let begin = Instant::now();
        let mut bench = Bench::start(servers);
        let grpc = bench.grpc().await;
        for _ in 0..refusals {
            grpc.refused();
        }
        let http = bench.http().await;
        let epoch = http.up();
        if refusals < servers {
            http.push(epoch, 1);
        }
        assert_eq!(bench.connected().await.0.info().protocol, Protocol::Http);
        assert!(begin.elapsed() < 3 * SECOND, "{servers} {refusals}: {:?}", begin.elapsed());
        if refusals == servers {
            assert!(begin.elapsed() < 100 * MS, "{servers}: {:?}", begin.elapsed());
        }
        http.push(epoch, 2);
        let pushed = bench.event().await;
        assert!(
            matches!(pushed, Event::Push { info, .. } if info.last_ref_time == 2),
            "not what came before it served"
        );
        sleep(MS).await;
        assert!(grpc.is_ended("closed"));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_lost_is_decided_anew() {
    let mut bench = Bench::start(1);
    let grpc = bench.grpc().await;
    let first = grpc.up();
    bench.connected().await;
    grpc.down(first);
    assert!(matches!(bench.disconnected().await, (1, LinkFault::Transport(_))));
    // The server was replaced by one without gRPC.
    let lost = Instant::now();
    grpc.refused();
    let http = bench.http().await;
    let epoch = http.up();
    assert_eq!(bench.connected().await.0.epoch(), Epoch(2));
    assert!(lost.elapsed() > SECOND && lost.elapsed() < 3 * SECOND, "{:?}", lost.elapsed());
    // And back again.
    http.down(epoch);
    assert_eq!(bench.disconnected().await.0, 2);
    let grpc = bench.grpc().await;
    grpc.up();
    assert_eq!(bench.connected().await.0.epoch(), Epoch(3));
    sleep(MS).await;
    assert!(http.is_ended("closed"));
}

#[tokio::test(start_paused = true)]
async fn over_http_grpc_is_looked_for_and_moved_to_without_a_gap() {
    let mut bench = Bench::start(1);
    let http = bench.over_http().await;
    for _ in 0..3 {
        let grpc = bench.grpc().await;
        grpc.refused();
        sleep(MS).await;
        assert!(grpc.is_ended("closed"));
    }
    let grpc = bench.grpc().await;
    let new = grpc.up();
    let (session, handover) = bench.connected().await;
    let handover = handover.expect("HTTP still serves");
    assert_eq!((session.epoch(), handover.old_epoch()), (Epoch(2), Epoch(1)));
    http.push(1, 1);
    grpc.push(new, 2);
    for epoch in [1, 2] {
        assert!(matches!(bench.event().await, Event::Push { epoch: at, .. } if at == Epoch(epoch)));
    }
    assert!(!http.is_ended("closed"));
    drop(handover);
    assert!(matches!(bench.disconnected().await, (1, LinkFault::Replaced)));
    assert!(http.is_ended("closed"));
    assert_eq!(bench.auto.status().borrow().phase, Phase::Connected);
    // One for each transport there was: six of gRPC, one of HTTP.
    sleep(MS).await;
    assert_eq!(bench.auto.counts().beats, 6);
}

#[tokio::test(start_paused = true)]
async fn a_server_whose_grpc_is_late_is_moved_to_soon() {
    // After so many seconds it is there; and so much later at most it is found.
    for (there, found) in [(1u32, 3u32), (4, 6), (8, 12), (24, 36)] {
        let mut bench = Bench::start(1);
        let http = bench.over_http().await;
        let chosen = Instant::now();
        loop {
            let grpc = bench.grpc().await;
            if chosen.elapsed() >= there * SECOND {
                grpc.up();
                break;
            }
            grpc.refused();
        }
        let (session, handover) = bench.connected().await;
        assert_eq!(session.info().protocol, Protocol::Grpc);
        assert!(chosen.elapsed() <= found * SECOND, "{there}: {:?}", chosen.elapsed());
        drop(handover);
        assert_eq!(bench.disconnected().await.0, 1);
        assert!(http.is_ended("closed"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_move_that_nobody_finishes_is_finished_by_time() {
    let mut bench = Bench::start(1);
    let http = bench.over_http().await;
    bench.grpc().await.up();
    let (_, handover) = bench.connected().await;
    let begin = Instant::now();
    assert!(matches!(bench.disconnected().await, (1, LinkFault::Replaced)));
    assert_eq!(begin.elapsed().as_secs(), 5);
    assert!(http.is_ended("closed"));
    drop(handover);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_taken_back_where_that_would_take_what_grpc_has_added() {
    let mut bench = Bench::start(1);
    let http = bench.over_http().await;
    bench.grpc().await.up_as(Dialect::Adding, None);
    drop(bench.connected().await);
    bench.disconnected().await;
    assert!(http.is_ended("abandoned") && !http.is_ended("closed"));
}

#[tokio::test(start_paused = true)]
async fn if_grpc_breaks_while_everything_moves_http_serves_again_at_once() {
    let mut bench = Bench::start(1);
    let http = bench.over_http().await;
    let grpc = bench.grpc().await;
    let epoch = grpc.up();
    let (_, handover) = bench.connected().await;
    let begin = Instant::now();
    grpc.down(epoch);
    assert_eq!(bench.disconnected().await.0, 2);
    assert!(matches!(bench.disconnected().await, (1, LinkFault::Replaced)));
    assert!(http.is_ended("abandoned") && !http.is_ended("closed"));
    bench.http().await.up();
    assert_eq!(bench.connected().await.0.epoch(), Epoch(3));
    assert!(begin.elapsed() < 100 * MS);
    drop(handover);
    sleep(10 * SECOND).await;
    assert!(bench.events.is_empty(), "a late release changes nothing");
}

#[tokio::test(start_paused = true)]
async fn a_grpc_server_that_asks_to_move_is_obeyed() {
    let mut bench = Bench::start(1);
    let grpc = bench.grpc().await;
    let old = grpc.up();
    bench.connected().await;
    let released = CancellationToken::new();
    let new = grpc.up_as(Dialect::Replacing, Some(Handover::new(Epoch(old), released.clone())));
    let (session, handover) = bench.connected().await;
    assert_eq!((session.epoch(), handover.as_ref().unwrap().old_epoch()), (Epoch(2), Epoch(1)));
    drop(handover);
    assert!(released.is_cancelled());
    grpc.down(old);
    assert_eq!(bench.disconnected().await.0, 1);
    grpc.push(new, 1);
    assert!(matches!(bench.event().await, Event::Push { epoch: Epoch(2), .. }));
    sleep(10 * SECOND).await;
    assert!(bench.http.lock().unwrap().is_empty(), "nothing was lost");
}

#[tokio::test(start_paused = true)]
async fn while_nothing_answers_both_errors_are_known_and_the_telling_one_is_shown() {
    let bench = Bench::start(1);
    bench.grpc().await.refused();
    let http = bench.http().await;
    let error = LinkFault::SetupRefused { code: 503, message: Arc::from("STARTING") }.at(&Arc::from("there:1"));
    http.status.send_modify(|status| (status.failures, status.last_error) = (1, Some(error)));
    sleep(MS).await;
    let status = bench.auto.status().borrow().clone();
    assert_eq!((status.phase, status.failures), (Phase::Waiting, 1));
    assert!(status.last_error.unwrap().to_string().contains("STARTING"));
}

#[tokio::test(start_paused = true)]
async fn closing_ends_everything_and_nothing_follows() {
    for when in 0..3 {
        let mut bench = Bench::start(1);
        let grpc = bench.grpc().await;
        if when > 0 {
            grpc.refused();
            let http = bench.http().await;
            if when > 1 {
                http.up();
                bench.connected().await;
            }
        }
        assert!(bench.auto.close(SECOND).await);
        assert!(bench.auto.close(SECOND).await, "again");
        assert_eq!(bench.auto.status().borrow().phase, Phase::Closed);
        assert!(grpc.is_ended("closed"));
        assert!(matches!(bench.auto.start(Arc::new(Tap(mpsc::unbounded_channel().0))), Err(StartError::Closed)));
        if when > 1 {
            assert!(matches!(bench.disconnected().await, (1, LinkFault::Closed)));
        }
        sleep(1_000 * SECOND).await;
        assert!(bench.events.is_empty() && bench.grpc.lock().unwrap().is_empty());
        assert!(bench.http.lock().unwrap().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_ends_the_driver_and_leaves_no_cycle() {
    let Bench { auto, mut events, grpc, .. } = Bench::start(1);
    let made = Bench::made(&grpc).await;
    drop(auto);
    drop(made);
    // The tap goes with the last holder of it.
    assert!(timeout(SECOND, events.recv()).await.expect("released").is_none());
}

fn key() -> ServiceKey {
    ServiceKey::new("DEFAULT_GROUP", "s")
}

/// A client that may speak both protocols, each with a registry of its own.
async fn client(grpc: &Arc<Mock>, http: &Arc<Mock>) -> NamingService {
    let (of_grpc, of_http) = (Arc::clone(grpc), Arc::clone(http));
    let protocols = Protocols {
        grpc: Box::new(move || Arc::clone(&of_grpc) as Arc<dyn NamingTransport>),
        http: Box::new(move || Arc::clone(&of_http) as Arc<dyn NamingTransport>),
    };
    let config = ClientConfig::builder().servers(["mock"]).empty_policy(EmptyPolicy::Accept).build().unwrap();
    let nacos = NamingService::with_transport(config, Arc::new(AutoTransport::new(protocols, 1)));
    assert!(nacos.connected(Duration::ZERO).await.is_err());
    nacos
}

async fn until(what: &str, test: impl Fn() -> bool) {
    let poll = async {
        while !test() {
            sleep(MS).await;
        }
    };
    timeout(200 * SECOND, poll).await.unwrap_or_else(|_| panic!("never: {what}"));
}

fn spoken(nacos: &NamingService) -> Option<Protocol> {
    match nacos.status().current() {
        ConnectionStatus::Connected { protocol, .. } => Some(protocol),
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn registrations_and_subscriptions_move_from_http_to_grpc_without_a_gap() {
    let (grpc, http) = (Mock::new(1, 2 * MS, Dialect::Replacing), Mock::new(2, 2 * MS, Dialect::Adding));
    http.poll(Some(10_000), true);
    for registry in [&grpc, &http] {
        registry.set_foreign(&key(), &[1, 2], true);
    }
    let nacos = client(&grpc, &http).await;
    // gRPC is silent.
    until("HTTP is tried", || http.is_started()).await;
    http.connect();
    let service = nacos.service("s").unwrap();
    let registration = service.register(Instance::new(("10.0.0.1", 9))).unwrap();
    registration.confirmed().await.unwrap();
    assert_eq!((spoken(&nacos), http.held(&key())), (Some(Protocol::Http), vec![9]));
    let mut subscription = service.subscribe(Select::all());
    subscription.next().await.unwrap();
    // The first attempt was given up when HTTP began to serve.
    until("closed", || grpc.is_closed() && !grpc.is_started()).await;
    until("gRPC is looked for", || grpc.is_started()).await;
    grpc.connect();
    while http.is_started() {
        assert!(http.held(&key()) == [9] || grpc.held(&key()) == [9], "never absent");
        sleep(MS / 4).await;
    }
    assert_eq!((spoken(&nacos), grpc.held(&key())), (Some(Protocol::Grpc), vec![9]));
    while let Some(change) = subscription.next().now_or_never() {
        assert!(change.unwrap().instances().len() >= 2, "the list was never empty");
    }
    grpc.set_foreign(&key(), &[3], false);
    assert!(subscription.next().await.unwrap().instances().iter().any(|i| i.port == 3), "pushed");
    assert!(nacos.shutdown(SECOND).await.clean);
    assert!(grpc.held(&key()).is_empty());
}

#[tokio::test(start_paused = true)]
async fn one_process_speaks_http_with_one_registry_and_grpc_with_another() {
    let mocks: Vec<Arc<Mock>> = (0..4).map(|n| Mock::new(n, 2 * MS, Dialect::Replacing)).collect();
    let old = client(&mocks[0], &mocks[1]).await;
    let new = client(&mocks[2], &mocks[3]).await;
    until("gRPC is tried", || mocks[2].is_started()).await;
    mocks[2].connect();
    until("HTTP is tried", || mocks[1].is_started()).await;
    mocks[1].poll(None, true);
    mocks[1].connect();
    until("both", || spoken(&old) == Some(Protocol::Http) && spoken(&new) == Some(Protocol::Grpc)).await;
    for nacos in [&old, &new] {
        nacos.service("s").unwrap().register(Instance::new(("10.0.0.1", 9))).unwrap().keep();
    }
    until("registered", || mocks[1].held(&key()) == [9] && mocks[2].held(&key()) == [9]).await;
    assert!(mocks[0].held(&key()).is_empty() && !mocks[3].is_started());
}
