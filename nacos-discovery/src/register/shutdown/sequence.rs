use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout};

use super::hook::Hook;
use super::once::Once;
use super::propagation::propagate;
use super::{ShutdownLimits, ShutdownPlan, ShutdownReport, Step, StepOutcome, StepReport, Traffic};

/// What the registry and its client have to do in a shutdown.
pub(in crate::register) trait Leaving: Send + Sync + 'static {
    /// Takes the instance back and waits for the registry's word.
    fn deregister(&self) -> BoxFuture<'_, StepOutcome>;

    /// Whether consumers may know the instance.
    fn is_visible(&self) -> bool;

    /// Closes the client within `limit`.
    fn close(&self, limit: Duration) -> BoxFuture<'_, StepOutcome>;
}

/// A shutdown: its steps in order, each once, whoever asks for it and however often.
#[derive(Debug)]
pub(in crate::register) struct Sequence {
    runtime: Handle,
    parts: Mutex<(Option<Departure>, Option<End>)>,
    departed: Once<Vec<StepReport>>,
    ended: Once<ShutdownReport>,
}

/// Up to the moment when nobody calls any more.
struct Departure {
    limits: ShutdownLimits,
    before: Vec<Hook>,
    traffic: Option<Traffic>,
    registry: Arc<dyn Leaving>,
}

/// From there to the end.
struct End {
    limits: ShutdownLimits,
    drain: Option<Hook>,
    after: Vec<Hook>,
    registry: Arc<dyn Leaving>,
    keep_client: bool,
}

impl std::fmt::Debug for Departure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Departure").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("End").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Sequence {
    /// A shutdown by this plan, to be run on `runtime`.
    pub(in crate::register) fn new(plan: ShutdownPlan, registry: Arc<dyn Leaving>, runtime: Handle) -> Self {
        let ShutdownPlan { limits, traffic, before, drain, after, keep_client } = plan;
        let departure = Departure { limits, before, traffic, registry: Arc::clone(&registry) };
        let end = End { limits, drain, after, registry, keep_client };
        let parts = Mutex::new((Some(departure), Some(end)));
        Self { runtime, parts, departed: Once::new(), ended: Once::new() }
    }

    fn parts(&self) -> std::sync::MutexGuard<'_, (Option<Departure>, Option<End>)> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first half: when it returns, consumers do not call any more, as far as that can be told.
    pub(in crate::register) async fn depart(&self) -> Vec<StepReport> {
        let work = || {
            let departure = self.parts().0.take();
            async {
                match departure {
                    Some(departure) => departure.run().await,
                    None => Vec::new(),
                }
            }
        };
        self.departed.run(&self.runtime, work).await.unwrap_or_default()
    }

    /// All of it.
    pub(in crate::register) async fn run(&self) -> ShutdownReport {
        let mut steps = self.depart().await;
        let work = || {
            let end = self.parts().1.take();
            async move {
                if let Some(end) = end {
                    end.run(&mut steps).await;
                }
                let report = ShutdownReport { steps };
                tracing::info!(clean = report.is_clean(), "shut down: {report}");
                report
            }
        };
        self.ended.run(&self.runtime, work).await.unwrap_or_default()
    }
}

impl Departure {
    async fn run(self) -> Vec<StepReport> {
        let Self { limits, before, traffic, registry } = self;
        let mut steps = Vec::new();
        for hook in before {
            take(&mut steps, Step::Before, hook.run(limits.hook)).await;
        }
        let visible = registry.is_visible();
        take(&mut steps, Step::Deregister, bounded(limits.deregistration, registry.deregister())).await;
        let wait = async {
            if !visible || limits.propagation.is_zero() {
                return StepOutcome::Skipped;
            }
            propagate(limits, traffic.as_ref()).await;
            StepOutcome::Done
        };
        take(&mut steps, Step::Propagate, wait).await;
        steps
    }
}

impl End {
    async fn run(self, steps: &mut Vec<StepReport>) {
        let Self { limits, drain, after, registry, keep_client } = self;
        let stop = async {
            match drain {
                Some(drain) => drain.run(limits.drain).await,
                None => StepOutcome::Skipped,
            }
        };
        take(steps, Step::Drain, stop).await;
        for hook in after {
            take(steps, Step::After, hook.run(limits.hook)).await;
        }
        let close = async { if keep_client { StepOutcome::Skipped } else { registry.close(limits.close).await } };
        take(steps, Step::Close, close).await;
    }
}

async fn bounded(limit: Duration, work: BoxFuture<'_, StepOutcome>) -> StepOutcome {
    timeout(limit, work).await.unwrap_or(StepOutcome::Overdue)
}

async fn take(steps: &mut Vec<StepReport>, step: Step, work: impl Future<Output = StepOutcome>) {
    let begin = Instant::now();
    let outcome = work.await;
    steps.push(StepReport { step, outcome, took: begin.elapsed() });
}
