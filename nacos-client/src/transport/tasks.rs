//! The tasks of a transport: begun once, ended once.

use std::{
    future::Future,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::{runtime::Handle, task::AbortHandle};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::StartError;

/// Owns everything that a transport has running. Dropping it ends the tasks without waiting.
#[derive(Debug)]
pub(crate) struct Tasks {
    /// Tells every task to end; cancelled by the end and by drop.
    stop: CancellationToken,
    tracker: TaskTracker,
    life: Mutex<Life>,
}

#[derive(Debug)]
enum Life {
    New,
    Running { runtime: Handle, main: AbortHandle },
    Ended,
}

impl Tasks {
    /// Nothing runs yet.
    pub(crate) fn new() -> Self {
        Self { stop: CancellationToken::new(), tracker: TaskTracker::new(), life: Mutex::new(Life::New) }
    }

    /// Cancelled when the tasks are to end.
    pub(crate) const fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Who is spawned on it is waited for.
    pub(crate) const fn tracker(&self) -> &TaskTracker {
        &self.tracker
    }

    /// Spawns what `main` makes on the runtime of the caller, once: a second time changes nothing.
    ///
    /// # Errors
    ///
    /// Outside a runtime, or after the end.
    pub(crate) fn begin<F>(&self, main: impl FnOnce(&Handle) -> F) -> Result<(), StartError>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut life = self.life();
        if self.stop.is_cancelled() {
            return Err(StartError::Closed);
        }
        match *life {
            Life::Running { .. } => return Ok(()),
            Life::Ended => return Err(StartError::Closed),
            Life::New => {}
        }
        let runtime = Handle::try_current().map_err(|_| StartError::NoRuntime)?;
        // Ends when `stop` is cancelled; `end` waits for it.
        let main = self.tracker.spawn_on(main(&runtime), &runtime).abort_handle();
        self.tracker.close();
        *life = Life::Running { runtime, main };
        Ok(())
    }

    /// Ends all tasks. The future waits for them, at most `deadline`, and resolves to whether all ended by themselves; what
    /// [`Tasks::begin`] spawned is aborted then. `None`: nothing was begun, and nothing will be.
    pub(crate) fn end(&self, deadline: Duration) -> Option<BoxFuture<'static, bool>> {
        self.stop.cancel();
        let mut life = self.life();
        let Life::Running { runtime, main } = &*life else {
            *life = Life::Ended;
            return None;
        };
        let (runtime, main, tracker) = (runtime.clone(), main.clone(), self.tracker.clone());
        Some(Box::pin(async move {
            // Slept on the transport's own runtime: the caller may be outside of any, and if that runtime is gone, so are the tasks.
            let mut alarm = runtime.spawn(async move { tokio::time::sleep(deadline).await });
            let ended = tokio::select! {
                biased;
                () = tracker.wait() => true,
                _ = &mut alarm => false,
            };
            alarm.abort();
            main.abort();
            ended
        }))
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        // Every critical section leaves a whole value, even if it panics.
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
