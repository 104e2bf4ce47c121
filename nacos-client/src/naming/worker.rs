//! The one task that talks to the server about services: it sends what the state machines ask for and feeds them the
//! answers.
//!
//! ```text
//!   handles, pushes ── WorkQueue ─▶ Worker ── Call ─▶ Session
//!   connection      ── link ──────▶   │  ▲            │
//!                                     │  └── answers ─┘
//!                                     ▼
//!                             Entry / Records: state machines
//! ```

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, OptionFuture};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::core::Core;
use super::entry::Entry;
use super::redo::Flight;
use super::registrations::Records;
use super::service_list::{Received, Taken};
use super::slot::{SubCall, SubFlight, SubOutcome};
use super::trouble::{Trouble, tell_failure};
use super::work::Work;
use crate::auth::LoginWatch;
use crate::model::{HostList, ServiceKey};
use crate::transport::{Call, CallError, Reply};
use crate::wake;

/// Mutating calls in flight per connection; as many queries and subscriptions may be beside them.
const WINDOW: usize = 64;
/// How often an outage is reported while it lasts.
const OUTAGE_REPORT: Duration = Duration::from_secs(60);
/// The idle time is measured in so many ticks of the sweep.
const IDLE_TICKS: u32 = 10;

type Answer = Result<Reply, CallError>;

enum Done {
    Read { entry: Arc<Entry>, flight: SubFlight, seq: u64, answer: Answer },
    Write { records: Arc<Records>, flight: Flight, answer: Answer },
}

#[derive(Debug)]
enum Alarm {
    Entry(Weak<Entry>),
    Records(Weak<Records>),
    Sweep,
    /// Time to say that there is still no connection.
    Outage,
}

#[derive(Debug)]
struct Timer {
    at: Instant,
    alarm: Alarm,
}

/// Owns every call that is under way.
pub(crate) struct Worker {
    core: Arc<Core>,
    calls: FuturesUnordered<BoxFuture<'static, Done>>,
    reads: VecDeque<Arc<Entry>>,
    writes: VecDeque<Arc<Records>>,
    reads_out: usize,
    writes_out: usize,
    timers: BinaryHeap<Reverse<Timer>>,
    /// Services whose records the old connection of a handover holds and the new one does not yet.
    copying: HashSet<ServiceKey>,
    /// Subscriptions that the old connection of a handover serves and the new one has not taken yet.
    moving: HashSet<ServiceKey>,
    /// Tells of new tokens, if this client logs in.
    logins: Option<LoginWatch>,
}

impl Worker {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        let logins = core.auth.watch();
        let mut worker = Self {
            core,
            calls: FuturesUnordered::new(),
            reads: VecDeque::new(),
            writes: VecDeque::new(),
            reads_out: 0,
            writes_out: 0,
            timers: BinaryHeap::new(),
            copying: HashSet::new(),
            moving: HashSet::new(),
            logins,
        };
        worker.arm_sweep();
        worker.timers.push(Reverse(Timer { at: Instant::now() + OUTAGE_REPORT, alarm: Alarm::Outage }));
        worker
    }

    /// Works until `stop` is cancelled; calls still under way then are abandoned with their connection.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let core = Arc::clone(&self.core);
        loop {
            if core.queue.take_link_changed() {
                self.link_changed();
            }
            self.collect();
            self.send_all();
            let next = self.timers.peek().map(|Reverse(timer)| timer.at);
            tokio::select! {
                () = stop.cancelled() => return,
                () = core.queue.wait() => {}
                Some(done) = self.calls.next(), if !self.calls.is_empty() => self.finish_burst(done),
                Some(()) = OptionFuture::from(self.logins.as_mut().map(LoginWatch::logged_in)) => self.logged_in(),
                () = wake::at(next) => self.ring(Instant::now()),
            }
        }
    }

    fn collect(&mut self) {
        while let Some(work) = self.core.queue.pop() {
            match work {
                Work::Entry(entry) => self.reads.push_back(entry),
                Work::Records(records) => self.writes.push_back(records),
            }
        }
    }

    /// A connection came or went: every service is looked at again.
    fn link_changed(&mut self) {
        let link = self.core.link();
        let core = Arc::clone(&self.core);
        let handover = link.old_epoch().is_some();
        self.moving.clear();
        core.reactor.for_each(|entry| {
            if handover && entry.lock().slot.is_moving(link.epoch()) {
                self.moving.insert(entry.key().clone());
            }
            if let Some(since) = link.lost_since() {
                entry.lost(since);
            }
            core.queue.entry(entry);
        });
        self.copying.clear();
        for records in core.registrations.all() {
            let copying = {
                let mut state = records.lock();
                state.redo.observe(&link);
                state.redo.is_copying(&link)
            };
            records.changed().notify_waiters();
            if copying {
                self.copying.insert(records.key().clone());
            }
            core.queue.records(&records);
        }
        self.end_handover_if_done();
    }

    /// There is a new token: what waits for one goes on, and what was denied is tried with it.
    fn logged_in(&self) {
        let now = Instant::now();
        self.core.reactor.for_each(|entry| {
            entry.lock().slot.logged_in(now);
            self.core.queue.entry(entry);
        });
        for records in self.core.registrations.all() {
            records.lock().redo.logged_in();
            self.core.queue.records(&records);
        }
    }

    fn end_handover_if_done(&self) {
        if self.copying.is_empty() && self.moving.is_empty() {
            // Dropping it closes the old connection.
            drop(self.core.take_handover());
        }
    }

    fn send_all(&mut self) {
        let now = Instant::now();
        while self.reads_out < WINDOW {
            let Some(entry) = self.reads.pop_front() else { break };
            self.send_read(entry, now);
        }
        while self.writes_out < WINDOW {
            let Some(records) = self.writes.pop_front() else { break };
            self.send_write(records, now);
        }
    }

    fn send_read(&mut self, entry: Arc<Entry>, now: Instant) {
        let link = self.core.link();
        let mut state = entry.lock();
        let decision = state.decision_at();
        let connection = link.session().map(|session| (session.epoch(), session.info().freshness));
        let flight = state.slot.next(connection, decision, now);
        let (Some(flight), Some(session)) = (flight, link.session()) else {
            let wake = state.slot.wake_at(decision);
            let idle = state.slot.is_idle();
            let moved = self.moving.contains(entry.key()) && !state.slot.is_moving(link.epoch());
            if let Some(at) = new_alarm(wake, &mut state.armed) {
                self.timers.push(Reverse(Timer { at, alarm: Alarm::Entry(Arc::downgrade(&entry)) }));
            }
            drop(state);
            if moved {
                self.moving.remove(entry.key());
                self.end_handover_if_done();
            }
            if idle {
                self.core.reactor.remove_unused(entry);
            }
            return;
        };
        if flight.call == SubCall::Query && state.slot.is_polled() {
            self.core.counters.polls.add();
        }
        drop(state);
        let key = entry.key().clone();
        let call = match flight.call {
            SubCall::Subscribe => Call::Subscribe { key },
            SubCall::Unsubscribe => Call::Unsubscribe { key },
            SubCall::Query => Call::Query { key },
        };
        let seq = self.core.next_seq();
        let answer = session.call(call);
        self.reads_out += 1;
        self.calls.push(Box::pin(async move { Done::Read { entry, flight, seq, answer: answer.await } }));
    }

    fn send_write(&mut self, records: Arc<Records>, now: Instant) {
        let link = self.core.link();
        let mut state = records.lock();
        let next = state.redo.next(records.key(), &link, now);
        let (Some((flight, call)), Some(session)) = (next, link.session()) else {
            let wake = state.redo.wake_at();
            let empty = state.redo.is_empty();
            if let Some(at) = new_alarm(wake, &mut state.armed) {
                self.timers.push(Reverse(Timer { at, alarm: Alarm::Records(Arc::downgrade(&records)) }));
            }
            let copied = self.copying.contains(records.key()) && !state.redo.is_copying(&link);
            drop(state);
            records.changed().notify_waiters();
            if copied {
                self.copied(records.key());
            }
            if empty {
                self.core.registrations.remove_unused(&records);
            }
            return;
        };
        drop(state);
        self.core.counters.writes.add();
        let answer = session.call(call);
        self.writes_out += 1;
        self.calls.push(Box::pin(async move { Done::Write { records, flight, answer: answer.await } }));
    }

    fn copied(&mut self, key: &ServiceKey) {
        self.copying.remove(key);
        self.end_handover_if_done();
    }

    /// Answers come in bursts: those that are there already are taken without a round through the scheduler each.
    fn finish_burst(&mut self, first: Done) {
        self.finish(first);
        for _ in 0..WINDOW {
            let Some(Some(done)) = self.calls.next().now_or_never() else { return };
            self.finish(done);
        }
    }

    fn finish(&mut self, done: Done) {
        let now = Instant::now();
        match done {
            Done::Read { entry, flight, seq, answer } => {
                self.reads_out -= 1;
                self.finish_read(&entry, flight, seq, answer, now);
                self.core.queue.entry(&entry);
            }
            Done::Write { records, flight, answer } => {
                self.writes_out -= 1;
                let failed = match &answer {
                    Err(error) => Some(error),
                    Ok(Reply::Partly(failed)) => failed.first().map(|(_, error)| error),
                    Ok(_) => None,
                };
                if let Some(error) = failed {
                    self.core.counters.writes_failed.add();
                    let log = &self.core.failed_writes_log;
                    tell_failure(log, "a registration is not accepted", records.key(), error, now);
                }
                records.lock().redo.done(&flight, answer, now);
                records.changed().notify_waiters();
                // Whatever is next for this service follows at once.
                self.send_write(records, now);
            }
        }
    }

    fn finish_read(&self, entry: &Entry, flight: SubFlight, seq: u64, answer: Answer, now: Instant) {
        let (outcome, info) = match answer {
            Ok(Reply::Service(info)) => (SubOutcome::Answered, Some(info)),
            Ok(Reply::Done | Reply::Partly(_) | Reply::Services { .. }) => (SubOutcome::Answered, None),
            Err(error) => {
                tell_failure(&self.core.failed_reads_log, "a list cannot be had", entry.key(), &error, now);
                (outcome_of(error), None)
            }
        };
        let mut state = entry.lock();
        if let Some(Some(info)) = &info {
            state.slot.keep(info.cache_millis);
        }
        if state.slot.done(flight, outcome, now) && state.slot.is_wanted() && flight.call != SubCall::Unsubscribe {
            let stamped = info.flatten().map(|info| (info.last_ref_time, HostList::from_wire(info)));
            match stamped {
                Some((ts, Some(list))) => {
                    state.slot.said_list();
                    let answer = Received { epoch: flight.epoch, seq, ts, list };
                    let held = state.is_holding();
                    let deciding = state.decision_at().is_some();
                    let taken = self.core.with_link(|link| entry.answer(&mut state, link, answer, now));
                    if !held && state.is_holding() {
                        self.core.holding(entry.key(), now);
                    }
                    let polled = state.slot.is_polled();
                    match taken {
                        Taken::Changed if flight.call != SubCall::Query || deciding => {}
                        Taken::Changed if polled => self.core.counters.polls_applied.add(),
                        Taken::Changed => self.core.counters.repairs.add(),
                        // What overtook it was a datagram, and the next one may get lost.
                        Taken::Overtaken if polled => state.slot.check(now),
                        _ => {}
                    }
                }
                // The server made no statement: ask again.
                Some((_, None)) => state.slot.said_nothing(now),
                None => {}
            }
        }
        drop(state);
        entry.changed().notify_waiters();
    }

    fn ring(&mut self, now: Instant) {
        while self.timers.peek().is_some_and(|Reverse(timer)| timer.at <= now) {
            let Some(Reverse(Timer { alarm, .. })) = self.timers.pop() else { return };
            match alarm {
                Alarm::Entry(entry) => {
                    if let Some(entry) = entry.upgrade() {
                        entry.lock().armed = None;
                        self.core.queue.entry(&entry);
                    }
                }
                Alarm::Records(records) => {
                    if let Some(records) = records.upgrade() {
                        records.lock().armed = None;
                        self.core.queue.records(&records);
                    }
                }
                Alarm::Sweep => {
                    for entry in self.core.reactor.sweep(IDLE_TICKS) {
                        self.core.queue.entry(&entry);
                    }
                    self.arm_sweep();
                }
                Alarm::Outage => self.report_outage(now),
            }
        }
    }

    /// One line a minute for as long as there is no connection; the transport tells its beginning and its end.
    fn report_outage(&mut self, now: Instant) {
        let down = self.core.with_link(|link| link.session().is_none());
        if down {
            let waiting = self.core.registrations.all().iter().map(|r| r.lock().redo.backlog()).sum::<usize>();
            tracing::warn!(waiting, "still no connection to any server, trying on");
        }
        self.timers.push(Reverse(Timer { at: now + OUTAGE_REPORT, alarm: Alarm::Outage }));
    }

    fn arm_sweep(&mut self) {
        if let Some(idle) = self.core.config.idle_time {
            let tick = (idle / IDLE_TICKS).max(Duration::from_millis(10));
            self.timers.push(Reverse(Timer { at: Instant::now() + tick, alarm: Alarm::Sweep }));
        }
    }
}

fn outcome_of(error: CallError) -> SubOutcome {
    match Trouble::of(error) {
        None => SubOutcome::LinkOver,
        Some(trouble) if trouble.is_final() => SubOutcome::Final(trouble),
        Some(trouble) => SubOutcome::Transient(trouble),
    }
}

/// The moment to set an alarm for, unless one that is early enough is set already.
fn new_alarm(wake: Option<Instant>, armed: &mut Option<Instant>) -> Option<Instant> {
    let wake = wake.filter(|at| armed.is_none_or(|armed| *at < armed))?;
    *armed = Some(wake);
    Some(wake)
}

impl PartialEq for Timer {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Timer {}

impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timer {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}
