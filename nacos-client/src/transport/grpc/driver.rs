//! Feeds the state machine and does what it says: the one task that owns all connections of a transport.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::{
    sync::mpsc,
    task::{Id, JoinSet},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{
    connection::{Attempt, Context, Control, Signal, run},
    state::{Action, Activity, Input, Machine},
};
use crate::error::describe;
use crate::transport::{Epoch, Event, LinkError, LinkFault, Phase, StatusWriter};
use crate::wake;

/// Signals that may wait for the supervisor: a connection sends few, and a request to move may be dropped.
pub(super) const SIGNALS: usize = 16;

/// The owner of a transport's connections. It ends when told to stop, and then all of them have ended.
pub(super) struct Supervisor {
    context: Arc<Context>,
    machine: Machine,
    signals: mpsc::Receiver<Signal>,
    status: StatusWriter,
    stop: CancellationToken,
    start: Instant,
    connections: JoinSet<LinkError>,
    /// Every task in `connections`.
    running: HashMap<Id, Running>,
}

struct Running {
    epoch: Epoch,
    control: Control,
    up: bool,
}

impl Supervisor {
    pub(super) fn new(
        context: Arc<Context>,
        signals: mpsc::Receiver<Signal>,
        status: StatusWriter,
        stop: CancellationToken,
    ) -> Self {
        let settings = &context.settings;
        let rng = settings.seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        let machine = Machine::new(settings.servers.len(), rng);
        let (start, connections, running) = (Instant::now(), JoinSet::new(), HashMap::new());
        Self { context, machine, signals, status, stop, start, connections, running }
    }

    /// Runs until told to stop.
    pub(super) async fn run(mut self) {
        self.step(Input::Start);
        loop {
            let wake = self.machine.wake_at().map(|at| self.start + at);
            tokio::select! {
                biased;
                () = self.stop.cancelled() => break,
                Some(signal) = self.signals.recv() => self.signal(signal),
                Some(ended) = self.connections.join_next_with_id(), if !self.connections.is_empty() => match ended {
                    Ok((id, error)) => self.ended(id, error, false),
                    Err(failure) => self.ended(failure.id(), crashed(), true),
                },
                () = wake::at(wake) => self.step(Input::Elapsed),
            }
        }
        self.step(Input::Close);
        while self.connections.join_next().await.is_some() {}
    }

    fn signal(&mut self, signal: Signal) {
        match signal {
            Signal::Up(epoch, info) => {
                tracing::info!(%epoch, peer = %info.peer, conn.id = %info.connection_id, "connected");
                if let Some(running) = self.find(epoch) {
                    running.up = true;
                }
                self.step(Input::Up(epoch));
            }
            Signal::ResetAsked(epoch, target) => {
                let target = target.and_then(|(host, port)| self.context.settings.servers.find(&host, port));
                self.step(Input::ResetAsked(epoch, target));
            }
        }
    }

    fn ended(&mut self, id: Id, error: LinkError, crashed: bool) {
        let Some(running) = self.running.remove(&id) else { return };
        let epoch = running.epoch;
        // "Refused" and "unreachable" differ only in the cause.
        let text = describe(&error);
        if running.up {
            tracing::info!(%epoch, error = %text, "disconnected");
            if crashed {
                self.context.handler.handle(Event::Disconnected { epoch, cause: error.clone() });
            }
        } else if self.machine.failures() == 0 && !self.context.settings.tentative {
            tracing::warn!(%epoch, error = %text, "cannot connect, trying on");
        } else {
            tracing::debug!(%epoch, error = %text, failures = self.machine.failures(), "cannot connect");
        }
        let input = if error.fault.is_refusal() { Input::Refused(epoch) } else { Input::Down(epoch) };
        self.status.0.send_modify(|status| status.last_error = Some(error));
        self.step(input);
    }

    fn step(&mut self, input: Input) {
        for action in self.machine.step(self.now(), input) {
            match action {
                Action::Dial { epoch, server, replaces } => self.dial(epoch, server, replaces),
                Action::Retire(epoch) => {
                    if let Some(running) = self.find(epoch) {
                        running.control.release.cancel();
                    }
                }
                Action::CloseAll => self.stop.cancel(),
            }
        }
        let phase = self.phase();
        let failures = self.machine.failures();
        self.status.0.send_if_modified(|status| {
            let changed = status.phase != phase || status.failures != failures;
            (status.phase, status.failures) = (phase, failures);
            changed
        });
    }

    fn dial(&mut self, epoch: Epoch, server: usize, replaces: Option<Epoch>) {
        let server = self.context.settings.servers.get(server).clone();
        let control = Control { stop: self.stop.child_token(), release: CancellationToken::new() };
        let replaces = replaces.and_then(|old| Some((old, self.find(old)?.control.release.clone())));
        let attempt = Attempt { epoch, server, control: control.clone(), replaces };
        let span = tracing::debug_span!("conn", %epoch);
        // Ends with its connection, or when `control` says so; awaited or aborted by the JoinSet.
        let task = self.connections.spawn(run(Arc::clone(&self.context), attempt).instrument(span));
        self.running.insert(task.id(), Running { epoch, control, up: false });
    }

    fn find(&mut self, epoch: Epoch) -> Option<&mut Running> {
        self.running.values_mut().find(|running| running.epoch == epoch)
    }

    fn phase(&self) -> Phase {
        match self.machine.activity() {
            Activity::Idle => Phase::Idle,
            Activity::Dialing(server) => {
                Phase::Connecting { server: Arc::from(self.context.settings.servers.get(server).to_string()) }
            }
            Activity::Serving => Phase::Connected,
            Activity::Waiting => Phase::Waiting,
            // Said when the task ends.
            Activity::Closed => self.status.0.borrow().phase.clone(),
        }
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

fn crashed() -> LinkError {
    LinkFault::GivenUp("its task panicked").at(&Arc::from("connection"))
}
