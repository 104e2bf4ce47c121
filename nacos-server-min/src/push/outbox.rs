use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use bytes::Bytes;

use super::chains::Chains;
use super::frame::{Frame, ListFrames};
use super::schedule::{Acked, Schedule, Step};
use crate::api::grpc::Status;
use crate::context::Context;
use crate::fault::PushMode;
use crate::registry::{Service, ServiceRef, Sink};

/// Longest wait of a first push for the answer it follows; the answer usually releases it at once.
const FIRST_PUSH_AT_LATEST: Duration = Duration::from_millis(100);
/// Messages other than pushes that may wait on one stream. More only pile up if a client sends set-ups without reading.
const MAX_CONTROL: usize = 64;

/// One bidirectional stream of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamId(u64);

/// What the outbox needs from its surroundings.
pub(crate) struct OutboxContext {
    pub(crate) server: Arc<Context>,
    /// The server's own address as this client sees it.
    pub(crate) local_ip: String,
}

/// What a stream is to do next.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// Write this.
    Frame(Frame),
    /// The server's half is over.
    End(Status),
    /// Nothing before that tick, or before the waker is called.
    Wait(Option<Duration>),
    /// Close the whole connection.
    GiveUp,
}

/// When what is pushed.
enum Plan {
    Slots(Schedule),
    Chains(Chains),
}

struct Stream {
    id: StreamId,
    control: VecDeque<Frame>,
    waker: Option<Waker>,
    /// A set-up came by it.
    set_up: bool,
    ended: Option<Status>,
}

struct Entry {
    service: Arc<Service>,
    clusters: Option<Arc<str>>,
}

struct State {
    streams: Vec<Stream>,
    next_stream: u64,
    /// Where pushes go.
    target: Option<StreamId>,
    /// A set-up was accepted before.
    ever_set_up: bool,
    entries: HashMap<usize, Entry>,
    plan: Plan,
}

/// Everything one connection is going to be sent, ready to be taken piece by piece as its peer has room.
pub(crate) struct Outbox {
    context: OutboxContext,
    frames: ListFrames,
    state: Mutex<State>,
}

impl std::fmt::Debug for Outbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outbox").finish_non_exhaustive()
    }
}

impl Outbox {
    pub(crate) fn new(context: OutboxContext) -> Self {
        let timing = context.server.settings.push;
        let plan = if context.server.oddities.is_some() {
            Plan::Chains(Chains::new(timing))
        } else {
            Plan::Slots(Schedule::new(timing))
        };
        let frames = ListFrames::pushes(&context.local_ip);
        let state = State {
            streams: Vec::new(),
            next_stream: 0,
            target: None,
            ever_set_up: false,
            entries: HashMap::new(),
            plan,
        };
        Self { context, frames, state: Mutex::new(state) }
    }

    pub(crate) fn local_ip(&self) -> &str {
        &self.context.local_ip
    }

    // === streams ===

    /// A new stream; `None` when the connection has `max` of them.
    pub(crate) fn open_stream(&self, max: usize) -> Option<StreamId> {
        let mut state = self.lock();
        if state.streams.len() >= max {
            return None;
        }
        let id = StreamId(state.next_stream);
        state.next_stream += 1;
        // Mostly there is no other.
        state.streams.reserve_exact(1);
        state.streams.push(Stream { id, control: VecDeque::new(), waker: None, set_up: false, ended: None });
        Some(id)
    }

    /// A set-up came by this stream. Pushes go to the newest such stream, with the recorded habits to the first one.
    pub(crate) fn set_up(&self, id: StreamId, ack: Option<Frame>) {
        let mut state = self.lock();
        let first_keeps = self.context.server.oddities.is_some();
        if !(state.ever_set_up && first_keeps) {
            state.target = Some(id);
        }
        state.ever_set_up = true;
        if let Some(stream) = state.stream(id) {
            stream.set_up = true;
            stream.control.extend(ack);
            stream.wake();
        }
    }

    /// Ends the server's half once everything that waits is written.
    pub(crate) fn end_stream(&self, id: StreamId, status: Status) {
        let mut state = self.lock();
        if let Some(stream) = state.stream(id) {
            stream.ended.get_or_insert(status);
            stream.wake();
        }
        state.retarget(self.context.server.oddities.is_some());
    }

    /// The stream is gone.
    pub(crate) fn close_stream(&self, id: StreamId) {
        let mut state = self.lock();
        state.streams.retain(|stream| stream.id != id);
        state.retarget(self.context.server.oddities.is_some());
    }

    /// Ends all streams, as after an eviction; a later set-up starts afresh.
    pub(crate) fn end_all(&self) {
        let mut state = self.lock();
        state.target = None;
        state.ever_set_up = false;
        for stream in &mut state.streams {
            stream.ended.get_or_insert(Status::OK);
            stream.wake();
        }
    }

    /// Sends a message other than a push; false if there is no stream for it.
    pub(crate) fn send(&self, frame: Frame) -> bool {
        let mut state = self.lock();
        let Some(target) = state.target else { return false };
        let Some(stream) = state.stream(target) else { return false };
        if stream.control.len() >= MAX_CONTROL {
            return false;
        }
        stream.control.push_back(frame);
        stream.wake();
        true
    }

    // === pushes ===

    /// The answer to a first subscription was written: its push may follow.
    pub(crate) fn answered(&self, service: &Arc<Service>) {
        let now = self.context.server.clock.ticks();
        let mut state = self.lock();
        if let Plan::Slots(schedule) = &mut state.plan {
            schedule.changed(ServiceRef::address(service), now, Duration::ZERO);
            state.wake_target();
        }
    }

    /// Takes an acknowledgement; true if the connection is to be given up.
    pub(crate) fn acked(&self, id: u64, ok: bool) -> bool {
        let now = self.context.server.clock.ticks();
        let mut state = self.lock();
        let acked = match &mut state.plan {
            Plan::Slots(schedule) => schedule.acked(id, ok, now),
            Plan::Chains(chains) => chains.acked(id, ok, now),
        };
        if acked == Acked::Unknown {
            return false;
        }
        let counters = &self.context.server.counters;
        if ok {
            counters.acks.add()
        } else {
            counters.refusals.add()
        }
        state.wake_target();
        acked == Acked::GiveUp
    }

    /// Wakes the stream that carries pushes, after something outside of the outbox changed.
    pub(crate) fn nudge(&self) {
        self.lock().wake_target();
    }

    /// How long a push has been waiting for the peer to read what came before it.
    pub(crate) fn stalled(&self) -> Duration {
        let now = self.context.server.clock.ticks();
        let state = self.lock();
        if state.target.is_none() || self.context.server.pushes_are_held() {
            return Duration::ZERO;
        }
        match &state.plan {
            Plan::Slots(schedule) => schedule.overdue(now),
            Plan::Chains(chains) => chains.overdue(now),
        }
    }

    /// What the stream is to do next. `waker` is called when that may have changed.
    pub(crate) fn poll(&self, id: StreamId, waker: &Waker) -> Outgoing {
        loop {
            let (service, clusters, push, frozen) = {
                let mut state = self.lock();
                let is_target = state.target == Some(id);
                let Some(stream) = state.stream(id) else { return Outgoing::End(Status::OK) };
                if let Some(frame) = stream.control.pop_front() {
                    return Outgoing::Frame(frame);
                }
                if let Some(status) = &stream.ended {
                    return Outgoing::End(status.clone());
                }
                stream.waker = Some(waker.clone());
                if !is_target || self.context.server.pushes_are_held() {
                    return Outgoing::Wait(None);
                }
                match self.step(&mut state) {
                    (Step::Wait(until), _) => return Outgoing::Wait(until),
                    (Step::GiveUp, _) => return Outgoing::GiveUp,
                    (Step::Send { service, id, again }, frozen) => {
                        let Some(entry) = state.entries.get(&service) else { continue };
                        (Arc::clone(&entry.service), entry.clusters.clone(), (id, again), frozen)
                    }
                }
            };
            // The list is read without holding the outbox, since writers lock in the other order.
            let server = &self.context.server;
            if server.fault.push_mode() == PushMode::Drop {
                server.counters.pushes_dropped.add();
                continue;
            }
            let list = frozen.unwrap_or_else(|| server.encoded_list(&service, clusters.as_ref()));
            server.counters.pushes.add();
            if push.1 {
                server.counters.pushes_repeated.add();
            }
            return Outgoing::Frame(self.frames.push(push.0, &list));
        }
    }

    fn step(&self, state: &mut State) -> (Step, Option<Bytes>) {
        let now = self.context.server.clock.ticks();
        let next_id = || self.context.server.next_request_id();
        match &mut state.plan {
            Plan::Slots(schedule) => (schedule.step(now, next_id), None),
            Plan::Chains(chains) => chains.step(now, next_id),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// With the recorded habits: fires one push, which may be repeated, or frozen and overtaken.
    fn fire(&self, service: &Arc<Service>) {
        let server = &self.context.server;
        let Some(oddities) = &server.oddities else { return };
        let at = server.clock.ticks() + server.fault.push_delay();
        let address = ServiceRef::address(service);
        let clusters = match self.lock().entries.get(&address) {
            Some(entry) => entry.clusters.clone(),
            None => return,
        };
        let repeat = oddities.repeat_after().map(|later| (later, server.encoded_list(service, clusters.as_ref())));
        let overtaken = oddities.overtaken_by().map(|later| (later, server.encoded_list(service, clusters.as_ref())));
        let mut state = self.lock();
        // Without a stream a push counts as done.
        if state.target.is_none() {
            return;
        }
        let Plan::Chains(chains) = &mut state.plan else { return };
        match overtaken {
            // What is overtaken is not lost: the newest list goes as well, or the client would keep an old one.
            Some((later, old)) => {
                chains.fire(address, at, None);
                chains.fire(address, at + later, Some(old));
            }
            None => chains.fire(address, at, None),
        }
        if let Some((later, same)) = repeat {
            chains.fire(address, at + later, Some(same));
        }
        state.wake_target();
    }
}

impl Sink for Outbox {
    fn subscribed(&self, service: &Arc<Service>, clusters: Option<&Arc<str>>, first: bool) {
        let now = self.context.server.clock.ticks();
        let address = ServiceRef::address(service);
        let mut state = self.lock();
        state.entries.insert(address, Entry { service: Arc::clone(service), clusters: clusters.cloned() });
        match &mut state.plan {
            Plan::Slots(schedule) => {
                schedule.add(address);
                if first {
                    schedule.changed(address, now, now + FIRST_PUSH_AT_LATEST);
                    state.wake_target();
                }
            }
            Plan::Chains(chains) => chains.add(address),
        }
    }

    fn unsubscribed(&self, service: &Arc<Service>) {
        let address = ServiceRef::address(service);
        let mut state = self.lock();
        state.entries.remove(&address);
        match &mut state.plan {
            Plan::Slots(schedule) => schedule.remove(address),
            Plan::Chains(chains) => chains.remove(address),
        }
    }

    fn changed(&self, service: &Arc<Service>) {
        if self.context.server.oddities.is_some() {
            return self.fire(service);
        }
        let now = self.context.server.clock.ticks();
        let not_before = now + self.context.server.fault.push_delay();
        let mut state = self.lock();
        if let Plan::Slots(schedule) = &mut state.plan {
            schedule.changed(ServiceRef::address(service), now, not_before);
            state.wake_target();
        }
    }
}

impl State {
    fn stream(&mut self, id: StreamId) -> Option<&mut Stream> {
        self.streams.iter_mut().find(|stream| stream.id == id)
    }

    fn wake_target(&mut self) {
        if let Some(stream) = self.target.and_then(|id| self.stream(id)) {
            stream.wake();
        }
    }

    /// After a stream ended: pushes go to the newest one left that was set up, with the recorded habits nowhere.
    fn retarget(&mut self, first_keeps: bool) {
        let alive = |stream: &&Stream| stream.set_up && stream.ended.is_none();
        if self.target.is_some_and(|id| self.streams.iter().filter(alive).any(|stream| stream.id == id)) {
            return;
        }
        self.target = match first_keeps {
            true => None,
            false => self.streams.iter().rev().find(alive).map(|stream| stream.id),
        };
        self.wake_target();
    }
}

impl Stream {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}
