use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::breaker::{Breaker, Input, Moment};
use super::gate::{Gate, Way};
use super::{EjectionCause, EjectionKind, EjectionSender};
use crate::node::{Node, Pace};
use crate::pick::Avoid;
use crate::settings::{EjectSettings, ServiceSettings};
use crate::{Endpoint, Outcome};

/// Takes instances of one service out of the choice, and sees to it that enough are left.
///
/// Two locks: this one's, then the record of an instance. Whatever changes a breaker holds both, so the count of ejected
/// instances and the breakers agree. Picks and the ends of good calls take none: they read the mirror in the gate of an
/// instance, and [`Ejector::any_ejected`].
#[derive(Debug)]
pub(crate) struct Ejector {
    rules: Option<EjectSettings>,
    pace: Pace,
    /// The ejected among the usable ones.
    closed: AtomicUsize,
    ledger: Mutex<Ledger>,
    restored: Notify,
    events: EjectionSender,
}

#[derive(Debug)]
struct Ledger {
    /// Rises with every list. Instances of an earlier round are not usable now, and count for nothing.
    round: u32,
    /// How many may be ejected.
    most: usize,
    ejected: usize,
    random: fastrand::Rng,
}

impl Ejector {
    pub(crate) fn new(settings: &ServiceSettings, events: EjectionSender, now: Instant, seed: u64) -> Self {
        let ledger = Ledger { round: 0, most: 0, ejected: 0, random: fastrand::Rng::with_seed(seed) };
        Self {
            rules: settings.ejection().cloned(),
            pace: Pace::new(now, settings.latency_decay(), settings.failure_penalty()),
            closed: AtomicUsize::new(0),
            ledger: Mutex::new(ledger),
            restored: Notify::new(),
            events,
        }
    }

    pub(crate) const fn rules(&self) -> Option<&EjectSettings> {
        self.rules.as_ref()
    }

    pub(crate) const fn pace(&self) -> &Pace {
        &self.pace
    }

    /// Whether a pick has to look at instances one by one.
    #[inline]
    pub(crate) fn any_ejected(&self) -> bool {
        self.closed.load(Ordering::Relaxed) > 0
    }

    /// What a pick passes over that was made so often before. A repeated request probes nobody: it has failed once already.
    #[inline]
    pub(crate) fn avoid(&self, tried: usize) -> Avoid {
        match (tried, self.any_ejected()) {
            (0, false) => Avoid::Nothing,
            (0, true) => Avoid::Unusable { probing: self.at(Instant::now()) },
            (_, _) => Avoid::Unusable { probing: 0 },
        }
    }

    /// Runs `read` while no gate changes. It must not come back here.
    pub(crate) fn settled<R>(&self, read: impl FnOnce() -> R) -> R {
        let _ledger = self.lock();
        read()
    }

    /// The time that gates are compared with.
    pub(crate) fn at(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.pace.epoch()).as_millis() as u64
    }

    /// Whether there has been a list.
    pub(crate) fn has_list(&self) -> bool {
        self.lock().round > 0
    }

    /// Told whenever an instance came back: the weights of instances that are started slowly change. One waits at a time.
    pub(crate) const fn restored(&self) -> &Notify {
        &self.restored
    }

    /// These can take requests now, whatever is preferred; `publish` lets picks see them. No gate changes in between, so that
    /// whoever looks while they are [`settled`](Self::settled) has a list of which somebody is left.
    ///
    /// Ejections go on as they are, unless too many of the instances that are left would be ejected: then the ones whose
    /// pauses are the shortest come back.
    pub(crate) fn members_changed<'a, R>(
        &self,
        usable: impl IntoIterator<Item = &'a Arc<Endpoint>>,
        now: Instant,
        publish: impl FnOnce() -> R,
    ) -> R {
        let mut ledger = self.lock();
        // 0 stands for "in no list".
        ledger.round = ledger.round.checked_add(1).unwrap_or(1);
        let mut count = 0;
        let mut closed = Vec::new();
        for endpoint in usable {
            count += 1;
            let seat = endpoint.node().seat();
            seat.list(ledger.round);
            if !seat.gate().is_open() {
                closed.push(endpoint);
            }
        }
        ledger.most = self.rules.as_ref().map_or(0, |rules| rules.most_of(count));
        ledger.ejected = closed.len();
        let too_many = closed.len().saturating_sub(ledger.most);
        if too_many > 0 {
            closed.sort_by_key(|endpoint| badness(endpoint.node()));
        }
        let readmitted = &closed[..too_many];
        for endpoint in readmitted {
            self.step(&mut ledger, endpoint, Input::Readmit, now);
        }
        self.publish(&ledger);
        let published = publish();
        drop(ledger);
        for endpoint in readmitted {
            log(endpoint, EjectionKind::Readmitted);
        }
        published
    }

    /// Whether a request may go to an instance whose gate is not open: it is healthy again, or this request is to probe it.
    /// The generation that the call belongs to.
    #[cold]
    pub(crate) fn admit(&self, endpoint: &Endpoint, now: Instant) -> Option<u16> {
        let mut ledger = self.lock();
        let seat = endpoint.node().seat();
        let before = seat.record().breaker;
        let told = self.step(&mut ledger, endpoint, Input::Request, now);
        let after = seat.record().breaker;
        let admitted = match (before, after) {
            (Breaker::Healthy { .. }, _) => true,
            (Breaker::Ejected { .. }, Breaker::Probing { .. }) => true,
            (Breaker::Ejected { .. } | Breaker::Probing { .. }, _) => false,
        };
        let generation = seat.gate().generation;
        drop(ledger);
        if let Some(kind) = told {
            log(endpoint, kind);
        }
        admitted.then_some(generation)
    }

    /// A call of the gate's generation has ended.
    #[inline]
    pub(crate) fn ended(&self, endpoint: &Endpoint, gate: Gate, outcome: &Outcome, now: Instant) {
        if self.rules.is_none() {
            return;
        }
        let probing = gate.is_probing();
        let count = |failed| endpoint.node().seat().count(failed, || self.at(now));
        let input = match outcome {
            Outcome::Success { .. } => {
                count(false);
                if gate.way == Way::Clear {
                    return;
                }
                Input::Success
            }
            Outcome::Overloaded { .. } => match count(true) {
                None if !probing => return,
                exceeded => Input::Overload { exceeded },
            },
            Outcome::Cancelled if !probing => return,
            Outcome::Cancelled => Input::Cancelled,
            Outcome::ServerFailure { .. } | Outcome::Transport(_) => Input::Failure { exceeded: count(true) },
        };
        self.judge(endpoint, gate.generation, input, now);
    }

    /// The call that probes it got a good answer, but goes on.
    pub(crate) fn answered(&self, endpoint: &Endpoint, gate: Gate, now: Instant) {
        self.judge(endpoint, gate.generation, Input::Success, now);
    }

    #[cold]
    fn judge(&self, endpoint: &Endpoint, generation: u16, input: Input, now: Instant) {
        let mut ledger = self.lock();
        // An ejection came between: what was before it counts no more.
        if endpoint.node().seat().gate().generation != generation {
            return;
        }
        let told = self.step(&mut ledger, endpoint, input, now);
        self.publish(&ledger);
        drop(ledger);
        if let Some(kind) = told {
            log(endpoint, kind);
        }
    }

    /// Steps the breaker of an instance and keeps everything that follows from it: the gate, the count, the estimate, the age.
    fn step(&self, ledger: &mut Ledger, endpoint: &Endpoint, input: Input, now: Instant) -> Option<EjectionKind> {
        let rules = self.rules.as_ref()?;
        let node = endpoint.node();
        let seat = node.seat();
        let listed = seat.is_listed(ledger.round);
        let room = listed && ledger.ejected < ledger.most;
        let moment = Moment { now, rules, room, random: ledger.random.f64() };
        let mut record = seat.record();
        let before = record.breaker;
        let (after, told) = before.step(input, &moment);
        record.breaker = after;
        let mut gate = seat.gate();
        match told {
            Some(EjectionKind::Ejected { .. }) => {
                gate.generation = gate.generation.wrapping_add(1);
                // Its calls so far say nothing of how fast it is once it is well again, but would keep requests away.
                node.load().forget();
            }
            Some(EjectionKind::Restored) => {
                record.joined = Some(now);
                seat.forget_rate();
                self.restored.notify_one();
            }
            Some(EjectionKind::Readmitted) => seat.forget_rate(),
            None => {}
        }
        gate.way = self.way(&after);
        seat.gate.write(gate);
        drop(record);
        if listed {
            match (before.is_closed(), after.is_closed()) {
                (false, true) => ledger.ejected += 1,
                (true, false) => ledger.ejected = ledger.ejected.saturating_sub(1),
                _ => {}
            }
        }
        if let Some(kind) = told {
            // Under the lock, so that events come in order. It wakes tasks, but runs nobody's code.
            self.events.send(endpoint.instance(), kind, now);
        }
        told
    }

    fn way(&self, breaker: &Breaker) -> Way {
        match breaker {
            Breaker::Healthy { failures: 0, .. } => Way::Clear,
            Breaker::Healthy { .. } => Way::Troubled,
            // Who comes within the last millisecond is turned away by the breaker. 0 is the time at which nobody probes.
            Breaker::Ejected { until, .. } => Way::Ejected { until: self.at(*until).max(1) },
            Breaker::Probing { overdue, .. } => Way::Probing { overdue: self.at(*overdue).max(1) },
        }
    }

    fn publish(&self, ledger: &Ledger) {
        self.closed.store(ledger.ejected, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the least bad of ejected instances has least of.
fn badness(node: &Node) -> (std::time::Duration, Option<Instant>) {
    let breaker = node.seat().record().breaker;
    let until = match breaker {
        Breaker::Ejected { until, .. } => Some(until),
        Breaker::Healthy { .. } | Breaker::Probing { .. } => None,
    };
    (breaker.pause().length, until)
}

/// One line for each change of an instance that serves. A probe that failed changes nothing: during an outage there would
/// be a line for each.
fn log(endpoint: &Endpoint, kind: EjectionKind) {
    let instance = endpoint.instance();
    let service = instance.service();
    match kind {
        EjectionKind::Ejected { cause: EjectionCause::ProbeFailed, relapses, .. } => {
            tracing::debug!(%service, %instance, relapses, "a probe failed, the instance stays ejected");
        }
        EjectionKind::Ejected { cause, relapses, .. } => {
            tracing::info!(%service, %instance, ?cause, relapses, "instance ejected");
        }
        EjectionKind::Restored => tracing::info!(%service, %instance, "instance restored"),
        EjectionKind::Readmitted => {
            tracing::info!(%service, %instance, "ejected instance readmitted, too few others are left");
        }
    }
}
