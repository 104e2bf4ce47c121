//! Sends the beats of one epoch: the driver of the [`BeatReactor`].
//!
//! Servers take nothing from a beat of an instance they know, so an operator's change of weight or metadata is not undone by beats. After a server has forgotten an instance,
//! what this process wants is registered: an operator's change lasts as long as the server remembers it.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{
    FutureExt, StreamExt,
    future::BoxFuture,
    stream::{self, FuturesUnordered},
};
use nacos_proto::code;
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    beat_reactor::{BeatId, BeatKey, BeatReactor, Departure, Form, Landing, Late},
    counters::BeatCounters,
    requests::Writer,
    round::{Servers, Terms},
    verdict,
};
use crate::{
    error::describe,
    log_limit::LogLimit,
    model::{Instance, ServiceKey},
    transport::CallError,
    wake,
};

/// Beats under way at once. Each takes a connection: with those of calls and one question for the state there are 16.
const IN_FLIGHT: usize = 7;
/// Beats leave together at multiples of it, up to so much later than they are due: waking for each of many costs more than the beats.
const TOGETHER: Duration = Duration::from_millis(100);

/// The beats of one epoch, shared by its session and the task that sends them.
#[derive(Debug)]
pub(super) struct Beats {
    reactor: Mutex<BeatReactor>,
    /// Something was added.
    changed: Notify,
    /// A beat of a removed instance ended.
    landed: Notify,
    servers: Arc<Servers>,
    writer: Writer,
    limit: Duration,
    counters: Arc<BeatCounters>,
    failed_log: LogLimit,
    late_log: LogLimit,
}

impl Beats {
    pub(super) fn new(servers: Arc<Servers>, writer: Writer, limit: Duration, counters: Arc<BeatCounters>) -> Self {
        Self {
            reactor: Mutex::default(),
            changed: Notify::new(),
            landed: Notify::new(),
            servers,
            writer,
            limit,
            counters,
            failed_log: LogLimit::default(),
            late_log: LogLimit::default(),
        }
    }

    /// `instance` was registered just now: it beats from now on.
    pub(super) fn begin(&self, key: &ServiceKey, instance: Arc<Instance>) {
        let beating = {
            let mut reactor = self.reactor();
            // Not in the first fifth: the registration was a beat.
            reactor.add(key, instance, 0.2 + 0.8 * fastrand::f64(), Instant::now());
            reactor.len()
        };
        self.counters.beating(beating);
        self.changed.notify_one();
    }

    /// `instance` is being registered. Returns what it replaces, to be put back if the registration fails.
    pub(super) fn replace(&self, key: &ServiceKey, instance: Arc<Instance>) -> Option<Arc<Instance>> {
        let beat = (key.clone(), instance.key());
        self.reactor().replace(&beat, instance)
    }

    /// Ends the beats of an instance and waits for one under way: one that arrives after the deregistration would register the instance again.
    ///
    /// # Cancel safety
    ///
    /// The beats have ended even if the future is dropped; only the wait is abandoned.
    pub(super) async fn end(&self, key: &ServiceKey, instance: &Instance) {
        let under_way = self.remove(&(key.clone(), instance.key()));
        let Some(id) = under_way else { return };
        loop {
            let landed = self.landed.notified();
            tokio::pin!(landed);
            landed.as_mut().enable();
            if !self.reactor().is_leaving(id) {
                return;
            }
            landed.await;
        }
    }

    fn remove(&self, key: &BeatKey) -> Option<BeatId> {
        let mut reactor = self.reactor();
        let under_way = reactor.remove(key);
        self.counters.beating(reactor.len());
        under_way
    }

    /// Ends all beats; returns what was beating.
    pub(super) fn end_all(&self) -> Vec<(ServiceKey, Arc<Instance>)> {
        self.counters.beating(0);
        self.reactor().clear()
    }

    /// Sends beats until `stop` is cancelled; those under way then are abandoned.
    pub(super) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut flights: FuturesUnordered<BoxFuture<'static, (BeatId, Landing)>> = FuturesUnordered::new();
        let begun = Instant::now();
        loop {
            let wake = self.depart(&mut flights).map(|due| together(begun, due));
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                Some((id, landing)) = flights.next(), if !flights.is_empty() => self.land(id, landing),
                () = self.changed.notified() => {}
                () = wake::at(wake) => {}
            }
        }
    }

    fn depart(
        self: &Arc<Self>,
        flights: &mut FuturesUnordered<BoxFuture<'static, (BeatId, Landing)>>,
    ) -> Option<Instant> {
        let now = Instant::now();
        let mut late = None;
        let mut reactor = self.reactor();
        // Also without a free place, so that it can be told later who is to blame for the wait.
        reactor.notice(now);
        while flights.len() < IN_FLIGHT {
            let Some(departure) = reactor.next(now) else { break };
            if let Some(delay) = departure.late {
                self.counters.late();
                late = Some((departure.key.clone(), delay));
            }
            flights.push(Arc::clone(self).fly(departure).boxed());
        }
        let wake = reactor.wake_at();
        drop(reactor);
        if let Some((key, late)) = late {
            self.tell_late(&key, late, now);
        }
        wake
    }

    fn land(&self, id: BeatId, landing: Landing) {
        match landing {
            Landing::Taken { .. } => {}
            Landing::Restored => self.counters.restored(),
            Landing::Failed => self.counters.failed(),
        }
        self.counters.ended();
        self.reactor().landed(id, landing, Instant::now());
        self.landed.notify_waiters();
    }

    /// One beat, and the registration if the server asks for it. A panic fails this beat alone.
    async fn fly(self: Arc<Self>, departure: Departure) -> (BeatId, Landing) {
        let id = departure.id;
        let landing = AssertUnwindSafe(self.beat(&departure)).catch_unwind().await;
        (id, landing.unwrap_or(Landing::Failed))
    }

    async fn beat(&self, departure: &Departure) -> Landing {
        let Departure { key, instance, period, .. } = departure;
        let request = match departure.form {
            Form::Light => self.writer.light_beat(key, instance),
            Form::Full => self.writer.full_beat(key, instance, i64::try_from(period.as_millis()).unwrap_or(i64::MAX)),
        };
        let answer = match self.servers.ask(&request, Terms::within(self.limit), verdict::beat).await {
            Ok((answer, _)) => answer,
            Err(refused) => return self.tell_failed(key, &refused.error),
        };
        match answer.code {
            // Servers of 1.1 name no code.
            0 | code::BEAT_OK => {
                Landing::Taken { interval_ms: answer.client_beat_interval, light: answer.light_beat_enabled }
            }
            code::BEAT_UNKNOWN => self.restore(departure.id, key).await,
            other => {
                tracing::debug!(service = %key, code = other, "a beat is not accepted");
                Landing::Failed
            }
        }
    }

    /// The server has forgotten the instance, or another one answers that never knew it. If the instance is changed meanwhile, nobody knows
    /// which of the two registrations came last, so it is registered once more.
    async fn restore(&self, id: BeatId, key: &ServiceKey) -> Landing {
        let mut landing = Landing::Failed;
        let mut wanted = self.reactor().content(id);
        while let Some(instance) = wanted {
            let request = self.writer.register(key, &instance);
            let done = self
                .servers
                .ask(&request, Terms::within(self.limit), |answer| verdict::done(verdict::success(answer)?))
                .await;
            if let Err(refused) = done {
                return self.tell_failed(key, &refused.error);
            }
            tracing::debug!(service = %key, %instance, "the server had forgotten an instance, registered it again");
            landing = Landing::Restored;
            wanted = self.reactor().content(id).filter(|newest| !Arc::ptr_eq(newest, &instance));
        }
        landing
    }

    fn tell_failed(&self, key: &ServiceKey, error: &CallError) -> Landing {
        let error = describe(error);
        match self.failed_log.pass(Instant::now()) {
            Some(left_out) => tracing::warn!(service = %key, %error, lines_left_out = left_out, "a beat failed"),
            None => tracing::debug!(service = %key, %error, "a beat failed"),
        }
        Landing::Failed
    }

    fn tell_late(&self, key: &ServiceKey, late: Late, now: Instant) {
        let Late { delay, starved } = late;
        match self.late_log.pass(now) {
            Some(left_out) => {
                tracing::warn!(service = %key, ?delay, ?starved, lines_left_out = left_out, "a beat leaves late");
            }
            None => tracing::debug!(service = %key, ?delay, ?starved, "a beat leaves late"),
        }
    }

    /// Deregisters what was beating when the epoch was ended by us, as far as there is time.
    pub(super) async fn deregister(&self, gone: Vec<(ServiceKey, Arc<Instance>)>) {
        let removals = gone.into_iter().map(|(key, instance)| async move {
            let request = self.writer.deregister(&key, &instance);
            let done = self
                .servers
                .ask(&request, Terms::within(self.limit), |answer| verdict::done(verdict::success(answer)?))
                .await;
            if let Err(refused) = done {
                tracing::debug!(service = %key, %instance, error = %describe(&refused.error), "not deregistered");
            }
        });
        let all = stream::iter(removals).buffer_unordered(IN_FLIGHT).collect::<()>();
        if tokio::time::timeout(self.limit, all).await.is_err() {
            tracing::debug!("no time was left to deregister everything, the rest expires");
        }
    }

    fn reactor(&self) -> MutexGuard<'_, BeatReactor> {
        // Every critical section leaves a whole value, even if it panics.
        self.reactor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first multiple of [`TOGETHER`] since `begun` that is not before `due`.
fn together(begun: Instant, due: Instant) -> Instant {
    let steps = due.saturating_duration_since(begun).as_nanos().div_ceil(TOGETHER.as_nanos());
    // After 13 years beats are sent one by one.
    u32::try_from(steps).map_or(due, |steps| begun + TOGETHER * steps)
}
