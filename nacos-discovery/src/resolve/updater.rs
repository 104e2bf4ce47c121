use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use nacos_client::{ServiceKey, StartError};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

use super::directory::Shared;
use super::idle::Idle;
use super::pacer::{Pacer, Urgency};
use super::{Endpoints, Lists, ServiceList};
use crate::DiscoveryError;

/// The task that keeps the endpoints of one service up to date. It ends when the lists end, and when this is dropped: that
/// is, when nobody holds the endpoints any longer, not even the directory, which lets go of services that are idle.
#[derive(Debug)]
pub(super) struct Updater {
    task: JoinHandle<()>,
}

/// The first pause after the source could not begin, and the longest one.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

impl Updater {
    /// Begins to watch a service; an error that may pass is tried again by the task.
    ///
    /// # Errors
    /// If there is no runtime, the name is invalid or the source is shut down.
    pub(super) fn spawn(endpoints: &Arc<Endpoints>, directory: &Arc<Shared>) -> Result<Self, DiscoveryError> {
        let runtime = Handle::try_current().map_err(|_| StartError::NoRuntime)?;
        let lists = match directory.source().lists(endpoints.service()) {
            Ok(lists) => Some(lists),
            Err(error) if error.is_retryable() => {
                endpoints.report(error);
                None
            }
            Err(error) => return Err(error),
        };
        let now = Instant::now();
        let upkeep = endpoints.settings().upkeep();
        let work = Work {
            endpoints: Arc::downgrade(endpoints),
            directory: Arc::downgrade(directory),
            service: endpoints.service().clone(),
            pacer: Pacer::new(upkeep.coalescing()),
            idle: upkeep.idle().map(|limit| Idle::new(limit, now)),
            refresh: None,
        };
        Ok(Self { task: runtime.spawn(work.run(lists)) })
    }
}

impl Drop for Updater {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The endpoints and the directory are held weakly: the task must not keep alive what ends it.
struct Work {
    endpoints: Weak<Endpoints>,
    directory: Weak<Shared>,
    service: ServiceKey,
    pacer: Pacer,
    idle: Option<Idle>,
    /// When something is due by time alone.
    refresh: Option<Instant>,
}

/// Nobody holds the endpoints or the directory any longer, or the source is shut down.
struct Ended;

/// Why the task goes on.
enum Woken {
    Item(Result<ServiceList, DiscoveryError>),
    /// An instance came back from its ejection.
    Restored,
    Time,
}

impl Work {
    async fn run(mut self, lists: Option<Lists>) {
        let lists = match lists {
            Some(lists) => Ok(lists),
            None => self.begin().await,
        };
        if let Ok(lists) = lists {
            let followed = AssertUnwindSafe(self.follow(lists)).catch_unwind();
            if followed.await.is_err() {
                let service = &self.service;
                tracing::error!(%service, "the source panicked; without it nobody keeps the list up to date");
            }
        }
        if let Some(endpoints) = self.endpoints.upgrade() {
            endpoints.close();
        }
    }

    /// Tries until the source begins.
    async fn begin(&mut self) -> Result<Lists, Ended> {
        let (mut pause, longest) = PAUSES;
        loop {
            sleep(pause.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
            pause = (pause * 2).min(longest);
            let directory = self.directory.upgrade().ok_or(Ended)?;
            match directory.source().lists(&self.service) {
                Ok(lists) => return Ok(lists),
                Err(error) => {
                    let passes = error.is_retryable();
                    self.endpoints.upgrade().ok_or(Ended)?.report(error);
                    if !passes {
                        return Err(Ended);
                    }
                }
            }
            self.look(Instant::now())?;
        }
    }

    /// Applies lists until there will be no other one.
    async fn follow(&mut self, mut lists: Lists) {
        let Some(ejector) = self.endpoints.upgrade().map(|endpoints| Arc::clone(endpoints.ejector())) else { return };
        let restored = ejector.restored();
        loop {
            let next =
                [self.pacer.next(), self.refresh, self.idle.as_ref().map(Idle::next)].into_iter().flatten().min();
            let woken = tokio::select! {
                item = lists.next() => match item {
                    Some(item) => Woken::Item(item),
                    None => return,
                },
                () = restored.notified() => Woken::Restored,
                () = until(next) => Woken::Time,
            };
            if self.step(woken, Instant::now()).is_err() {
                return;
            }
        }
    }

    /// What is to be done now.
    fn step(&mut self, woken: Woken, now: Instant) -> Result<(), Ended> {
        let endpoints = self.endpoints.upgrade().ok_or(Ended)?;
        let list = match woken {
            Woken::Item(Ok(list)) => {
                let urgency = if endpoints.loses_by(&list) { Urgency::AtOnce } else { Urgency::MayWait };
                self.pacer.offer(list, urgency, now)
            }
            Woken::Item(Err(error)) => {
                endpoints.report(error);
                None
            }
            Woken::Restored => {
                guarded(&endpoints, || endpoints.restart(now));
                None
            }
            Woken::Time => self.pacer.due(now),
        };
        if let Some(list) = list {
            guarded(&endpoints, || endpoints.apply(&list));
        }
        // Not at once where it panicked: it would do so again.
        self.refresh = guarded(&endpoints, || endpoints.refresh(now)).unwrap_or_else(|| Some(now + PAUSES.0));
        drop(endpoints);
        self.look(now)
    }

    /// Lets the directory go of a service that is idle.
    fn look(&mut self, now: Instant) -> Result<(), Ended> {
        let Some(idle) = &mut self.idle else { return Ok(()) };
        let endpoints = self.endpoints.upgrade().ok_or(Ended)?;
        // The directory has it, and so has this.
        let used = || endpoints.was_used() || Arc::strong_count(&endpoints) > 2;
        if idle.look(used, now)
            && let Some(directory) = self.directory.upgrade()
        {
            directory.let_go(&endpoints);
        }
        Ok(())
    }
}

/// Filters and policies of the application may panic: that must not end the updates.
fn guarded<R>(endpoints: &Endpoints, change: impl FnOnce() -> R) -> Option<R> {
    let changed = catch_unwind(AssertUnwindSafe(change)).ok();
    if changed.is_none() {
        let service = endpoints.service();
        tracing::error!(%service, "a filter or a policy panicked; the list before stays");
    }
    changed
}

async fn until(when: Option<Instant>) {
    match when {
        Some(when) => sleep_until(when).await,
        None => std::future::pending().await,
    }
}
