//! Feeds the state machine and does what it says: the one task that owns all epochs of a transport.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use futures_util::future::{BoxFuture, OptionFuture};
use tokio::{runtime::Handle, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    beats::Beats,
    counters::BeatCounters,
    life::{Action, Activity, Input, Life},
    push_receiver::Pushes,
    requests::Writer,
    round::{Place, Refused, Servers},
    session::{HttpSession, SessionParts},
    settings::HttpSettings,
    verdict,
};
use crate::{
    config::Protocol,
    error::describe,
    transport::{
        Abilities, CallError, Dialect, Epoch, Event, EventHandler, Freshness, LinkError, LinkFault, Phase, Session,
        SessionInfo, StatusWriter,
    },
    wake,
};

/// What a supervisor works with.
pub(super) struct Context {
    pub(super) settings: Arc<HttpSettings>,
    pub(super) servers: Arc<Servers>,
    pub(super) handler: Arc<dyn EventHandler>,
    pub(super) counters: Arc<BeatCounters>,
    pub(super) pushes: Arc<Pushes>,
    /// What is registered stays registered when the client ends.
    pub(super) abandon: Arc<AtomicBool>,
    /// Tasks of calls and beats.
    pub(super) tasks: TaskTracker,
    pub(super) runtime: Handle,
}

/// The owner of a transport's epochs. It ends when told to stop, and then the last epoch has ended.
pub(super) struct Supervisor {
    context: Context,
    writer: Writer,
    life: Life,
    status: StatusWriter,
    stop: CancellationToken,
    seeking: Option<BoxFuture<'static, Result<Place, LinkError>>>,
    serving: Option<Serving>,
    last_error: Option<LinkError>,
}

/// The epoch that serves.
struct Serving {
    epoch: Epoch,
    session: Arc<HttpSession>,
    beats: Arc<Beats>,
    stop_beats: CancellationToken,
}

impl Supervisor {
    pub(super) fn new(context: Context, status: StatusWriter, stop: CancellationToken) -> Self {
        let settings = &context.settings;
        let rng = settings.seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        let life = Life::new(settings.limits.idle, rng);
        let writer = Writer { namespace: Arc::clone(&settings.namespace), app_name: Arc::clone(&settings.app_name) };
        Self { context, writer, life, status, stop, seeking: None, serving: None, last_error: None }
    }

    /// Runs until told to stop.
    pub(super) async fn run(mut self) {
        self.step(Input::Start);
        let servers = Arc::clone(&self.context.servers);
        loop {
            let wake = self.life.wake_at();
            tokio::select! {
                biased;
                () = self.stop.cancelled() => break,
                Some(found) = OptionFuture::from(self.seeking.as_mut()) => self.sought(found),
                () = servers.pulse.failing() => self.step(Input::Told(servers.pulse.read())),
                () = wake::at(wake) => {
                    self.step(Input::Told(servers.pulse.read()));
                    self.step(Input::Elapsed);
                }
            }
        }
        self.step(Input::Close);
        self.seeking = None;
        self.leave().await;
    }

    fn sought(&mut self, found: Result<Place, LinkError>) {
        self.seeking = None;
        match found {
            Ok(place) => self.step_with(Input::Found, Some(place)),
            Err(error) => {
                let refused = error.fault.is_refusal();
                self.tell_not_found(&error);
                self.last_error = Some(error.clone());
                self.status.0.send_modify(|status| status.last_error = Some(error));
                self.step(Input::NotFound { refused });
            }
        }
    }

    fn tell_not_found(&self, error: &LinkError) {
        let text = describe(error);
        match (self.life.activity(), self.life.failures()) {
            (Activity::Seeking, 0) => tracing::warn!(error = %text, "no server answers, trying on"),
            (_, failures) => tracing::debug!(error = %text, failures, "no server answers"),
        }
    }

    fn step(&mut self, input: Input) {
        self.step_with(input, None);
    }

    fn step_with(&mut self, input: Input, place: Option<Place>) {
        match self.life.step(Instant::now(), input) {
            Some(Action::Seek) => self.seek(),
            Some(Action::Begin(epoch)) => self.begin(epoch, place),
            Some(Action::End(_)) => self.end(),
            None => {}
        }
        let (phase, failures) = (self.phase(), self.life.failures());
        self.status.0.send_if_modified(|status| {
            let changed = status.phase != phase || status.failures != failures;
            (status.phase, status.failures) = (phase, failures);
            changed
        });
    }

    fn seek(&mut self) {
        let servers = Arc::clone(&self.context.servers);
        let (request, limit) = (self.writer.state(), self.context.settings.limits.read);
        self.seeking = Some(Box::pin(async move {
            let asked = servers.ask_openly(&request, limit, verdict::state).await;
            asked.map(|((), place)| place).map_err(not_found)
        }));
    }

    fn begin(&mut self, epoch: Epoch, place: Option<Place>) {
        let Some(Place { server, ends }) = place else { return };
        let peer = ends.as_ref().map_or_else(|| Arc::clone(&server), |ends| Arc::clone(&ends.peer));
        tracing::info!(%epoch, %peer, "connected over HTTP");
        let info = SessionInfo {
            server,
            peer,
            local_ip: ends.and_then(|ends| ends.local_ip),
            connection_id: Arc::from(""),
            abilities: Abilities { negotiated: false, persistent: true },
            dialect: Dialect::Adding,
            protocol: Protocol::Http,
            freshness: Freshness::Polled,
        };
        let Context { settings, servers, counters, pushes, tasks, runtime, .. } = &self.context;
        let limits = settings.limits;
        let beats = Arc::new(Beats::new(Arc::clone(servers), self.writer.clone(), limits.write, Arc::clone(counters)));
        let stop_beats = CancellationToken::new();
        // Ends with the epoch, by `stop_beats`.
        tasks.spawn_on(Arc::clone(&beats).run(stop_beats.clone()), runtime);
        let session = Arc::new(HttpSession::new(SessionParts {
            epoch,
            info,
            servers: Arc::clone(servers),
            writer: self.writer.clone(),
            limits,
            beats: Arc::clone(&beats),
            pushes: Arc::clone(pushes),
            tasks: tasks.clone(),
            runtime: runtime.clone(),
        }));
        self.serving = Some(Serving { epoch, session: Arc::clone(&session), beats, stop_beats });
        let session: Arc<dyn Session> = session;
        self.context.handler.handle(Event::Connected { session, handover: None });
        self.context.pushes.begin(epoch);
    }

    /// No server answers: what it holds of us expires there, so the beats must not go on as if nothing had happened.
    fn end(&mut self) {
        let Some(serving) = self.serving.take() else { return };
        let cause = self.last_error.clone();
        let cause = cause.unwrap_or_else(|| LinkFault::Unhealthy.at(&serving.session.info().peer));
        tracing::info!(epoch = %serving.epoch, error = %describe(&cause), "disconnected, no server answers");
        serving.beats.end_all();
        serving.stop(cause, &self.context);
    }

    /// The client ends while a server answers: what still beats is deregistered, for nobody else will do it.
    async fn leave(&mut self) {
        let Some(serving) = self.serving.take() else { return };
        let cause = LinkFault::Closed.at(&serving.session.info().peer);
        let beats = Arc::clone(&serving.beats);
        let left = beats.end_all();
        serving.stop(cause, &self.context);
        if !self.context.abandon.load(Ordering::Acquire) {
            beats.deregister(left).await;
        }
    }

    fn phase(&self) -> Phase {
        match self.life.activity() {
            Activity::Idle => Phase::Idle,
            Activity::Seeking => Phase::Connecting { server: self.context.servers.first() },
            Activity::Serving => Phase::Connected,
            Activity::Waiting => Phase::Waiting,
            Activity::Closed => Phase::Closed,
        }
    }
}

impl Serving {
    fn stop(self, cause: LinkError, context: &Context) {
        self.stop_beats.cancel();
        self.session.end(cause.clone());
        context.pushes.end();
        context.handler.handle(Event::Disconnected { epoch: self.epoch, cause });
    }
}

fn not_found(refused: Refused) -> LinkError {
    let Refused { error, server } = refused;
    match error {
        CallError::Unreachable(error) | CallError::Link(error) => error,
        CallError::Refused(refusal) => {
            let (code, message) = (refusal.code, Arc::from(refusal.message));
            LinkFault::SetupRefused { code, message }.at(&server)
        }
        other @ (CallError::Decode(_)
        | CallError::Login(_)
        | CallError::Oversized { .. }
        | CallError::Unsupported { .. }) => LinkFault::Protocol(Arc::from(other.to_string())).at(&server),
    }
}
