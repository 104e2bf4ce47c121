//! The life of one client: started at its first use, ended by `shutdown` or with its last handle.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::core::Core;
use super::worker::Worker;
use crate::auth::Auth;
use crate::config::ClientConfig;
use crate::error::StartError;
use crate::transport::{self, NamingTransport};

/// How long the deregistrations of a shutdown may take in all.
const DEREGISTER_LIMIT: Duration = Duration::from_secs(1);
/// A longer limit is as good as none, and could not be added to a moment.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);
/// Time kept back for closing the connection, so that a shutdown ends in time.
const CLOSE_SHARE: Duration = Duration::from_millis(50);

/// What a shutdown came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// Services whose registrations the server confirmed to be gone.
    pub deregistered: usize,
    /// Services whose deregistration was not acknowledged. Closing the connection removes them as well, once the server
    /// notices.
    pub unacknowledged: usize,
    /// Whether every task and handler ended by itself.
    pub clean: bool,
}

/// Owns the tasks of one client. Every public handle holds it; when the last is dropped, everything ends.
pub(crate) struct Client {
    pub(crate) core: Arc<Core>,
    pub(crate) transport: Arc<dyn NamingTransport>,
    /// Tasks that run handlers of the application.
    pub(crate) handlers: TaskTracker,
    /// Tells the handlers' tasks to end.
    pub(crate) stop_handlers: CancellationToken,
    /// Ends them in the middle of a call.
    pub(crate) kill_handlers: CancellationToken,
    stop_worker: CancellationToken,
    life: Mutex<Life>,
}

enum Life {
    New,
    Running {
        worker: JoinHandle<()>,
        runtime: Handle,
    },
    /// The report appears when the shutdown has ended.
    Closing(watch::Receiver<Option<ShutdownReport>>),
}

impl Client {
    pub(crate) fn new(config: ClientConfig, auth: Auth, transport: Arc<dyn NamingTransport>) -> Self {
        Self {
            core: Arc::new(Core::new(config, auth)),
            transport,
            handlers: TaskTracker::new(),
            stop_handlers: CancellationToken::new(),
            kill_handlers: CancellationToken::new(),
            stop_worker: CancellationToken::new(),
            life: Mutex::new(Life::New),
        }
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the client on the runtime of the caller, unless it runs already.
    pub(crate) fn start(&self) -> Result<(), StartError> {
        if self.core.is_closed() {
            return Err(StartError::Closed);
        }
        let mut life = self.life();
        match &*life {
            // A worker that ended unasked was on a runtime that is gone.
            Life::Running { worker, .. } if worker.is_finished() => return Err(StartError::Closed),
            Life::Running { .. } => return Ok(()),
            Life::Closing(_) => return Err(StartError::Closed),
            Life::New => {}
        }
        let runtime = Handle::try_current().map_err(|_| StartError::NoRuntime)?;
        self.core.auth.start().map_err(start_error)?;
        self.transport.start(Arc::clone(&self.core) as Arc<_>).map_err(start_error)?;
        // Ends when `stop_worker` is cancelled, by the shutdown, which joins it, or by the last handle.
        let worker = runtime.spawn(Worker::new(Arc::clone(&self.core)).run(self.stop_worker.clone()));
        *life = Life::Running { worker, runtime };
        Ok(())
    }

    /// The runtime the client was started on.
    pub(crate) fn runtime(&self) -> Result<Handle, StartError> {
        match &*self.life() {
            Life::Running { runtime, .. } => Ok(runtime.clone()),
            Life::New => Err(StartError::NoRuntime),
            Life::Closing(_) => Err(StartError::Closed),
        }
    }

    /// Ends the client; see `NamingService::shutdown`.
    pub(crate) async fn shutdown(&self, limit: Duration) -> ShutdownReport {
        let end = Instant::now() + limit.min(LONGEST);
        let mut report = self.begin_shutdown(end);
        let done = report.wait_for(Option::is_some);
        match Handle::try_current() {
            // A second caller waits for the first one's shutdown, but not longer than it said itself.
            Ok(_) => timeout_at(end, done).await.ok().and_then(Result::ok).and_then(|done| *done),
            Err(_) => done.await.ok().and_then(|done| *done),
        }
        .unwrap_or(ShutdownReport { deregistered: 0, unacknowledged: 0, clean: false })
    }

    /// Begins the shutdown in a task of its own, so that it goes on if its caller stops waiting.
    fn begin_shutdown(&self, end: Instant) -> watch::Receiver<Option<ShutdownReport>> {
        self.core.close();
        self.stop_handlers.cancel();
        self.handlers.close();
        let mut life = self.life();
        if let Life::Closing(report) = &*life {
            return report.clone();
        }
        let (sender, report) = watch::channel(None);
        if let Life::Running { worker, runtime } = std::mem::replace(&mut *life, Life::Closing(report.clone())) {
            let shutdown = Shutdown {
                core: Arc::clone(&self.core),
                transport: Arc::clone(&self.transport),
                handlers: self.handlers.clone(),
                kill_handlers: self.kill_handlers.clone(),
                stop_worker: self.stop_worker.clone(),
                worker,
                end,
            };
            // Ends by itself at `end`: every step is bounded by it.
            runtime.spawn(async move {
                sender.send_replace(Some(shutdown.run().await));
            });
        } else {
            drop(self.transport.close(Duration::ZERO));
            drop(self.core.auth.close(Duration::ZERO));
            sender.send_replace(Some(ShutdownReport { deregistered: 0, unacknowledged: 0, clean: true }));
        }
        report
    }
}

fn start_error(error: transport::StartError) -> StartError {
    match error {
        transport::StartError::NoRuntime => StartError::NoRuntime,
        transport::StartError::Closed => StartError::Closed,
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Without waiting: the closed connection takes the registrations with it.
        self.core.close();
        self.stop_handlers.cancel();
        if !matches!(*self.life(), Life::Closing(_)) {
            self.stop_worker.cancel();
            drop(self.transport.close(Duration::ZERO));
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("namespace", &self.core.config.namespace).finish_non_exhaustive()
    }
}

/// The steps of a shutdown: handlers end, registrations go, the connection closes, tasks are joined.
struct Shutdown {
    core: Arc<Core>,
    transport: Arc<dyn NamingTransport>,
    handlers: TaskTracker,
    kill_handlers: CancellationToken,
    stop_worker: CancellationToken,
    worker: JoinHandle<()>,
    end: Instant,
}

impl Shutdown {
    async fn run(mut self) -> ShutdownReport {
        let begin = Instant::now();
        let room = self.end.saturating_duration_since(begin).saturating_sub(CLOSE_SHARE);
        // A handler that hangs must not keep the registrations alive, so both are waited for together.
        let (handlers, (deregistered, unacknowledged)) =
            tokio::join!(timeout(room, self.handlers.wait()), self.deregister(begin + room.min(DEREGISTER_LIMIT)));
        self.kill_handlers.cancel();
        self.stop_worker.cancel();
        let left = self.end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let closed = self.transport.close(left).await;
        // Last, as deregistrations need the token.
        let left = self.end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let closed = self.core.auth.close(left).await && closed;
        let joined = match timeout_at(self.end, &mut self.worker).await {
            Ok(joined) => joined.is_ok(),
            Err(_) => {
                self.worker.abort();
                false
            }
        };
        ShutdownReport { deregistered, unacknowledged, clean: handlers.is_ok() && closed && joined }
    }

    /// Withdraws everything and waits for the acknowledgements. Returns how many services were and were not confirmed.
    async fn deregister(&self, until: Instant) -> (usize, usize) {
        let all = self.core.registrations.all();
        let mut asked = Vec::with_capacity(all.len());
        for records in all {
            let registered = {
                let mut state = records.lock();
                state.redo.wishes.clear();
                !state.redo.is_clean()
            };
            if registered {
                self.core.queue.records(&records);
                asked.push(records);
            }
        }
        let connected = self.core.with_link(|link| link.session().is_some());
        let mut confirmed = 0;
        for records in &asked {
            let clean = async {
                loop {
                    let changed = records.changed().notified();
                    tokio::pin!(changed);
                    changed.as_mut().enable();
                    if records.lock().redo.is_clean() {
                        return;
                    }
                    changed.await;
                }
            };
            if connected && timeout_at(until, clean).await.is_ok() {
                confirmed += 1;
            }
        }
        (confirmed, asked.len() - confirmed)
    }
}
