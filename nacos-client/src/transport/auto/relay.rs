//! Stands between the transports of both protocols and naming: lets through what serves, under epochs of its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::{
    sync::{Notify, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    machine::{Action, Input, Machine, Side},
    session::RelayedSession,
};
use crate::error::describe;
use crate::transport::{
    Dialect, Epoch, Event, EventHandler, Handover, LinkError, LinkFault, NamingTransport, Phase, Session,
    TransportCounts, TransportStatus,
};

/// Makes the transports of both protocols, anew whenever one is opened.
pub(crate) struct Protocols {
    /// A transport that speaks gRPC, for which it is no event worth a warning that nobody listens.
    pub(crate) grpc: Box<dyn Fn() -> Arc<dyn NamingTransport> + Send + Sync>,
    /// A transport that speaks HTTP.
    pub(crate) http: Box<dyn Fn() -> Arc<dyn NamingTransport> + Send + Sync>,
}

/// What the driver, the transports and the owner share.
pub(super) struct Relay {
    pub(super) protocols: Protocols,
    pub(super) status: watch::Sender<TransportStatus>,
    /// Something is to be done by the driver.
    pub(super) wake: Notify,
    state: Mutex<State>,
}

/// Only the holder of the lock sees it.
pub(super) struct State {
    machine: Machine,
    handler: Option<Arc<dyn EventHandler>>,
    epochs: u64,
    generations: u64,
    grpc: Option<Child>,
    http: Option<Child>,
    /// Closed, but not ended yet.
    ending: Vec<Child>,
    /// What transports that have ended had counted.
    past: TransportCounts,
    /// Opening and closing needs the runtime, so it is left to the driver.
    todo: Vec<Action>,
    /// Cancelled when everything has moved from HTTP to gRPC.
    released: Option<CancellationToken>,
    /// It was told that nothing answers over gRPC either.
    told_absent: bool,
    closed: bool,
}

/// One transport.
struct Child {
    generation: u64,
    transport: Arc<dyn NamingTransport>,
    live: Vec<Live>,
}

/// A connection that has not ended.
struct Live {
    session: Arc<dyn Session>,
    /// Its number for naming, once it serves.
    told: Option<Epoch>,
}

/// Takes the events of one transport.
pub(super) struct Ear {
    relay: Weak<Relay>,
    side: Side,
    generation: u64,
}

/// What is left to the driver.
pub(super) enum Work {
    Start(Arc<dyn NamingTransport>, Ear),
    End { generation: u64, transport: Arc<dyn NamingTransport>, abandon: bool },
}

impl Relay {
    pub(super) fn new(protocols: Protocols, machine: Machine) -> Self {
        let state = State {
            machine,
            handler: None,
            epochs: 0,
            generations: 0,
            grpc: None,
            http: None,
            ending: Vec::new(),
            past: TransportCounts::default(),
            todo: Vec::new(),
            released: None,
            told_absent: false,
            closed: false,
        };
        Self {
            protocols,
            status: watch::Sender::new(TransportStatus::idle()),
            wake: Notify::new(),
            state: Mutex::new(state),
        }
    }

    /// Begins to pass events to `handler`.
    pub(super) fn begin(&self, handler: Arc<dyn EventHandler>) {
        self.state().handler = Some(handler);
        self.step(Input::Start);
    }

    /// Takes one input that no transport told.
    pub(super) fn step(&self, input: Input) {
        self.state().step(Instant::now(), input);
        self.wake.notify_one();
    }

    /// When to step with [`Input::Elapsed`], and what tells that everything has moved.
    pub(super) fn waits_for(&self) -> (Option<Instant>, Option<CancellationToken>) {
        let state = self.state();
        (state.machine.wake_at(), state.released.clone())
    }

    /// Opens and closes what is to be opened and closed, and returns what the driver has to do about it.
    pub(super) fn take_work(self: &Arc<Self>) -> Vec<Work> {
        let mut state = self.state();
        let todo = std::mem::take(&mut state.todo);
        let mut work = Vec::new();
        for action in todo {
            match action {
                // A close may have come between.
                Action::Open(_) if state.closed => {}
                Action::Open(side) => {
                    state.generations += 1;
                    let generation = state.generations;
                    let transport = match side {
                        Side::Grpc => (self.protocols.grpc)(),
                        Side::Http => (self.protocols.http)(),
                    };
                    let child = Child { generation, transport: Arc::clone(&transport), live: Vec::new() };
                    *state.child(side) = Some(child);
                    work.push(Work::Start(transport, Ear { relay: Arc::downgrade(self), side, generation }));
                }
                Action::Close(side) => work.extend(state.end(side, false)),
                Action::Abandon(side) => work.extend(state.end(side, true)),
                Action::Serve(_) | Action::Move => {}
            }
        }
        work
    }

    /// A transport that was closed has ended.
    pub(super) fn ended(&self, generation: u64) {
        let mut state = self.state();
        if let Some(at) = state.ending.iter().position(|child| child.generation == generation) {
            let child = state.ending.swap_remove(at);
            state.past = state.past.plus(child.transport.counts());
        }
    }

    /// No transport is opened any more. All that have not ended.
    pub(super) fn close(&self) -> Vec<Arc<dyn NamingTransport>> {
        let mut state = self.state();
        state.closed = true;
        state.machine.step(Instant::now(), Input::Close);
        state.children().map(|child| Arc::clone(&child.transport)).collect()
    }

    /// What all transports have counted.
    pub(super) fn counts(&self) -> TransportCounts {
        let state = self.state();
        state.children().fold(state.past, |sum, child| sum.plus(child.transport.counts()))
    }

    /// The states of both transports, to be watched.
    pub(super) fn watch(&self) -> [Option<watch::Receiver<TransportStatus>>; 2] {
        let state = self.state();
        [&state.grpc, &state.http].map(|child| child.as_ref().map(|child| child.transport.status()))
    }

    /// Looks at the states of both transports: gRPC may have failed, and others may want to know.
    pub(super) fn look(&self) {
        let [grpc, http] = self.watch().map(|status| status.map(|status| status.borrow().clone()));
        if let (Some(grpc), Some(http)) = (&grpc, &http) {
            self.state().tell_absence(grpc, http);
        }
        if let Some(grpc) = &grpc {
            self.state().step(Instant::now(), Input::GrpcFailed(grpc.failures));
        }
        let serving = self.state().machine.serving().is_some();
        let all: Vec<TransportStatus> = [grpc, http].into_iter().flatten().collect();
        self.status.send_if_modified(|status| {
            let next = summary(serving, &all, status);
            let changed = (&next.phase, next.failures) != (&status.phase, status.failures);
            *status = next;
            changed
        });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every critical section leaves a whole value, even if it panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is told of both together: the one that failed less often knows better what is wrong, as it came further.
fn summary(serving: bool, all: &[TransportStatus], before: &TransportStatus) -> TransportStatus {
    let connecting = || all.iter().map(|one| &one.phase).find(|phase| matches!(phase, Phase::Connecting { .. }));
    let phase = if serving { Phase::Connected } else { connecting().cloned().unwrap_or(Phase::Waiting) };
    let failures = all.iter().map(|one| one.failures).min().unwrap_or_default();
    let errors = || all.iter().filter_map(|one| one.last_error.as_ref());
    let telling = errors().find(|error| !error.fault.is_refusal()).or_else(|| errors().next());
    let last_error = telling.cloned().or_else(|| before.last_error.clone());
    TransportStatus { phase, failures, last_error }
}

impl State {
    fn child(&mut self, side: Side) -> &mut Option<Child> {
        match side {
            Side::Grpc => &mut self.grpc,
            Side::Http => &mut self.http,
        }
    }

    fn children(&self) -> impl Iterator<Item = &Child> {
        self.grpc.iter().chain(&self.http).chain(&self.ending)
    }

    fn find(&mut self, generation: u64) -> Option<&mut Child> {
        let all = self.grpc.iter_mut().chain(&mut self.http).chain(&mut self.ending);
        all.into_iter().find(|child| child.generation == generation)
    }

    fn step(&mut self, now: Instant, input: Input) {
        for action in self.machine.step(now, input) {
            match action {
                Action::Serve(side) => self.serve(side, None),
                Action::Move => self.move_over(),
                Action::Open(_) | Action::Close(_) | Action::Abandon(_) => self.todo.push(action),
            }
        }
    }

    fn end(&mut self, side: Side, abandon: bool) -> Option<Work> {
        // Where a registration adds, a late deregistration would take away what gRPC has added meanwhile.
        let newest = self.grpc.as_ref().and_then(|child| child.live.last());
        let adds = newest.is_some_and(|live| live.session.info().dialect == Dialect::Adding);
        let abandon = abandon || (side == Side::Http && adds);
        let child = self.child(side).take()?;
        let work = Work::End { generation: child.generation, transport: Arc::clone(&child.transport), abandon };
        self.ending.push(child);
        self.released = None;
        Some(work)
    }

    /// Tells naming of the newest connection of `side`.
    fn serve(&mut self, side: Side, handover: Option<Handover>) {
        let epoch = Epoch(self.epochs + 1);
        let Some(live) = self.child(side).as_mut().and_then(|child| child.live.last_mut()) else { return };
        live.told = Some(epoch);
        let session: Arc<dyn Session> = Arc::new(RelayedSession::new(epoch, Arc::clone(&live.session)));
        self.epochs += 1;
        self.told_absent = false;
        tracing::info!(%epoch, server = %session.info().server, protocol = %session.info().protocol, "serving");
        self.tell(Event::Connected { session, handover });
    }

    fn move_over(&mut self) {
        let old = self.http.as_ref().and_then(|child| child.live.last()).and_then(|live| live.told);
        let handover = old.map(|old| {
            let released = CancellationToken::new();
            self.released = Some(released.clone());
            Handover::new(old, released)
        });
        self.serve(Side::Grpc, handover);
    }

    /// The transport of HTTP warns if no server answers; of gRPC it is told here, as that may be what is missing.
    fn tell_absence(&mut self, grpc: &TransportStatus, http: &TransportStatus) {
        let absent = self.machine.serving().is_none() && grpc.failures > 0 && http.failures > 0;
        if let Some(error) = grpc.last_error.as_ref().filter(|_| absent && !self.told_absent) {
            self.told_absent = true;
            tracing::warn!(error = %describe(error), "no server answers over gRPC either, trying on");
        }
    }

    fn tell(&self, event: Event) {
        if let Some(handler) = &self.handler {
            handler.handle(event);
        }
    }

    fn connected(&mut self, side: Side, generation: u64, session: Arc<dyn Session>, handover: Option<Handover>) {
        let Some(child) = self.child(side).as_mut().filter(|child| child.generation == generation) else {
            return; // closed meanwhile
        };
        let told = |old: Epoch| child.live.iter().find(|live| live.session.epoch() == old).and_then(|live| live.told);
        let handover = handover.and_then(|handover| {
            let old = told(handover.old_epoch())?;
            Some(handover.renumbered(old))
        });
        child.live.push(Live { session, told: None });
        if handover.is_some() {
            // The server asked to move: the same protocol goes on.
            self.serve(side, handover);
        } else {
            self.step(Instant::now(), Input::Up(side));
        }
    }

    fn disconnected(&mut self, side: Side, generation: u64, epoch: Epoch, cause: LinkError) {
        let closing = self.ending.iter().any(|child| child.generation == generation);
        let Some(child) = self.find(generation) else { return };
        let Some(at) = child.live.iter().position(|live| live.session.epoch() == epoch) else { return };
        let newest = at + 1 == child.live.len();
        let told = child.live.remove(at).told;
        if let Some(epoch) = told {
            let replaced = closing && !self.closed;
            let cause = if replaced { LinkFault::Replaced.at(&cause.peer) } else { cause };
            self.tell(Event::Disconnected { epoch, cause });
        }
        if newest && !closing {
            self.step(Instant::now(), Input::Down(side));
        }
    }

    fn pushed(&mut self, generation: u64, event: Event) {
        let Event::Push { epoch, origin, info } = event else { return };
        let live = self.find(generation).and_then(|child| child.live.iter().find(|l| l.session.epoch() == epoch));
        if let Some(epoch) = live.and_then(|live| live.told) {
            self.tell(Event::Push { epoch, origin, info });
        }
    }
}

impl Ear {
    fn hear(&self, relay: &Relay, event: Event) {
        let mut state = relay.state();
        match event {
            Event::Connected { session, handover } => state.connected(self.side, self.generation, session, handover),
            Event::Push { .. } => return state.pushed(self.generation, event),
            Event::Disconnected { epoch, cause } => state.disconnected(self.side, self.generation, epoch, cause),
        }
        drop(state);
        relay.wake.notify_one();
    }
}

impl EventHandler for Ear {
    fn handle(&self, event: Event) {
        if let Some(relay) = self.relay.upgrade() {
            self.hear(&relay, event);
        }
    }

    fn known_lists(&self) -> Vec<nacos_proto::grpc::ServiceInfo> {
        let handler = self.relay.upgrade().and_then(|relay| relay.state().handler.clone());
        handler.map(|handler| handler.known_lists()).unwrap_or_default()
    }
}
