use std::future::Future;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::StepOutcome;

/// Something to be done once, in its turn.
pub(super) struct Hook(Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>);

/// Ends a task with whoever waits for it.
struct Abort(AbortHandle);

impl Drop for Abort {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Hook {
    pub(super) fn new<F>(work: impl FnOnce() -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self(Box::new(|| Box::pin(work())))
    }

    /// Does it in a task of its own, so that a panic ends only that.
    pub(super) async fn run(self, limit: Duration) -> StepOutcome {
        let work = self.0;
        // Ends by itself, or is aborted at the limit.
        let task = tokio::spawn(async move { work().await });
        let _abort = Abort(task.abort_handle());
        match timeout(limit, task).await {
            Ok(Ok(())) => StepOutcome::Done,
            Ok(Err(error)) if error.is_panic() => StepOutcome::Failed("it panicked".to_owned()),
            Ok(Err(_)) => StepOutcome::Failed("it was aborted".to_owned()),
            Err(_) => StepOutcome::Overdue,
        }
    }
}
