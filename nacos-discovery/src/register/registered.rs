use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use nacos_client::{NamingService, StartError};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use super::keeper::{Changed, Command};
use super::shutdown::{Sequence, ShutdownPlan, ShutdownReport, StepOutcome};
use super::{Readiness, Record, RegisterError, Registration, RegistrationState, RegistrationWatch};

/// This process in the registry. Cheap to clone; all clones stand for one registration.
///
/// End it with [`Registered::shutdown`]. Dropping the last clone deregisters as well, persistent instances included, but
/// nobody waits for it, neither for consumers nor for requests under way.
#[derive(Clone)]
#[must_use = "dropping it deregisters"]
pub struct Registered {
    shared: Arc<Shared>,
    sequence: Arc<Sequence>,
    readiness: Readiness,
}

struct Shared {
    nacos: NamingService,
    /// `None` if the settings want no registration.
    keeper: Option<mpsc::Sender<Command>>,
    record: watch::Receiver<Record>,
}

/// What a registration is made of.
pub(super) struct Parts {
    pub(super) nacos: NamingService,
    pub(super) keeper: Option<mpsc::Sender<Command>>,
    pub(super) record: watch::Receiver<Record>,
    pub(super) plan: ShutdownPlan,
    pub(super) readiness: Readiness,
    pub(super) runtime: Handle,
}

impl Registered {
    pub(super) fn new(parts: Parts) -> Self {
        let Parts { nacos, keeper, record, plan, readiness, runtime } = parts;
        readiness.run(record.clone());
        let shared = Arc::new(Shared { nacos, keeper, record });
        let sequence = Arc::new(Sequence::new(plan, Arc::clone(&shared) as Arc<_>, runtime));
        Self { shared, sequence, readiness }
    }

    /// How far the registration is.
    #[must_use]
    pub fn state(&self) -> RegistrationState {
        self.shared.record.borrow().state.clone()
    }

    /// The state, to be waited on.
    #[must_use]
    pub fn watch(&self) -> RegistrationWatch {
        RegistrationWatch::new(self.shared.record.clone())
    }

    /// What is registered; `None` if the settings want nothing registered.
    #[must_use]
    pub fn registration(&self) -> Option<Registration> {
        self.shared.record.borrow().wanted.clone()
    }

    /// Whether this process takes traffic.
    #[must_use]
    pub const fn readiness(&self) -> &Readiness {
        &self.readiness
    }

    /// Changes the registration and waits for the registry's word, at most for the client's deadline. `change` is called again if another change
    /// came in between, so none is lost.
    ///
    /// Weight, metadata and the enabled flag are changed in place. Another address, cluster or service is registered
    /// first, and then the old one deregistered. Subscriptions are never touched.
    ///
    /// # Errors
    /// [`RegisterError`]. After [`RegisterError::NotYet`] the change stays recorded and is tried on; after any other error
    /// nothing changed.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the change done or not done, as a whole.
    pub async fn update(&self, mut change: impl FnMut(&mut Registration)) -> Result<(), RegisterError> {
        loop {
            let (version, mut wanted) = self.current()?;
            self.keep_edits(&mut wanted).await;
            change(&mut wanted);
            if self.command(|done| Command::Change { version, wanted, done }).await?? == Changed::Recorded {
                break;
            }
        }
        self.settled().await
    }

    /// Waits for `signal`, then leaves the registry and waits until consumers know: the first half of the shutdown. When
    /// this returns, stop accepting. For servers that are told so by a future; call [`Registered::shutdown`] once they
    /// are through.
    ///
    /// Nobody counts the requests of such a server, so that it waits for the whole time of propagation, 10 s by default; what
    /// counts them, and so may be through earlier, is the `serve` of this crate, or a [`crate::Traffic`] of your own.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     app: axum::Router, listener: tokio::net::TcpListener, me: nacos_discovery::Registered,
    /// # ) -> std::io::Result<()> {
    /// let stop = async { drop(tokio::signal::ctrl_c().await) };
    /// let leaving = me.clone();
    /// let drained = async move { leaving.drain_on(stop).await };
    /// axum::serve(listener, app).with_graceful_shutdown(drained).await?;
    /// let report = me.shutdown().await;
    /// # Ok(()) }
    /// ```
    ///
    /// # Cancel safety
    /// Once the signal has come, dropping the future ends the waiting only.
    pub async fn drain_on<T>(&self, signal: impl Future<Output = T>) {
        drop(signal.await);
        self.readiness.leave();
        self.sequence.depart().await;
    }

    /// Leaves: hooks, deregistration, the wait for consumers, the drain, hooks, and the end of the client, in this order,
    /// by the plan the registration was made with. It runs once; whoever calls it again waits for the same end.
    ///
    /// # Cancel safety
    /// Dropping the future ends the waiting; the half of the shutdown that runs goes on, the drain and what follows only
    /// once this is called again.
    pub async fn shutdown(&self) -> ShutdownReport {
        self.readiness.leave();
        self.sequence.run().await
    }

    pub(super) fn nacos(&self) -> &NamingService {
        &self.shared.nacos
    }

    /// How long the registry's word is waited for.
    fn patience(&self) -> Duration {
        self.nacos().config().timeouts().request
    }

    fn current(&self) -> Result<(u64, Registration), RegisterError> {
        let record = self.shared.record.borrow();
        match &record.wanted {
            Some(wanted) if !record.state.is_over() => Ok((record.version, wanted.clone())),
            _ => Err(RegisterError::NotRegistered(record.state.clone())),
        }
    }

    pub(super) async fn command<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<T>) -> Command,
    ) -> Result<T, RegisterError> {
        let (done, answer) = oneshot::channel();
        let keeper = self.shared.keeper.as_ref().ok_or_else(|| RegisterError::NotRegistered(self.state()))?;
        let gone = || RegisterError::NotRegistered(self.state());
        keeper.send(command(done)).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())
    }

    /// Waits until the server has it as it is wanted.
    async fn settled(&self) -> Result<(), RegisterError> {
        let mut record = self.shared.record.clone();
        let decided = record
            .wait_for(|record| !matches!(record.state, RegistrationState::Pending | RegistrationState::Failing { .. }));
        let state = match timeout(self.patience(), decided).await {
            Ok(Ok(record)) => record.state.clone(),
            Ok(Err(_)) => return Err(StartError::Closed.into()),
            Err(_) => return Err(RegisterError::NotYet { waited: self.patience(), state: self.state() }),
        };
        match state {
            RegistrationState::Registered | RegistrationState::Withheld => Ok(()),
            RegistrationState::Refused(refusal) => {
                Err(RegisterError::Confirm(nacos_client::ConfirmError::Refused(refusal)))
            }
            RegistrationState::Unsupported { needs } => {
                Err(RegisterError::Confirm(nacos_client::ConfirmError::Unsupported { needs }))
            }
            other => Err(RegisterError::NotRegistered(other)),
        }
    }
}

impl super::shutdown::Leaving for Shared {
    fn deregister(&self) -> BoxFuture<'_, StepOutcome> {
        Box::pin(async {
            let Some(keeper) = &self.keeper else { return StepOutcome::Skipped };
            let (done, answer) = oneshot::channel();
            if keeper.send(Command::Withdraw { done }).await.is_err() {
                return StepOutcome::Skipped;
            }
            match answer.await {
                Ok(Ok(())) => StepOutcome::Done,
                Ok(Err(error)) => StepOutcome::Failed(error.to_string()),
                Err(_) => StepOutcome::Skipped,
            }
        })
    }

    fn is_visible(&self) -> bool {
        let record = self.record.borrow();
        record.was_visible && !record.state.is_over()
    }

    fn close(&self, limit: Duration) -> BoxFuture<'_, StepOutcome> {
        Box::pin(async move {
            let report = self.nacos.shutdown(limit).await;
            if report.clean { StepOutcome::Done } else { StepOutcome::Overdue }
        })
    }
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered")
            .field("state", &self.state())
            .field("registration", &self.registration())
            .finish_non_exhaustive()
    }
}
