use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures_util::{FutureExt, StreamExt};
use nacos_client::StartError;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{EjectionEvent, Ejections};

/// A handler that is called on ejections. Dropping it unsubscribes: no call begins after that, one that runs may finish.
#[derive(Debug)]
#[must_use = "dropping a listener unsubscribes"]
pub struct EjectionListener {
    /// Dropping it is what ends the task.
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl EjectionListener {
    pub(crate) fn spawn<F, R>(events: Ejections, handler: F) -> Result<Self, StartError>
    where
        F: FnMut(EjectionEvent) -> R + Send + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        let runtime = Handle::try_current().map_err(|_| StartError::NoRuntime)?;
        let (stop, stopped) = oneshot::channel();
        // Ends when the listener is dropped, after a call that runs, and when the directory is gone.
        let task = runtime.spawn(run(events, handler, stopped));
        Ok(Self { stop, task })
    }

    /// Ends the listener and waits until a call that runs has finished.
    ///
    /// # Cancel safety
    /// Dropping the future ends the waiting; the listener is unsubscribed in any case.
    pub async fn unsubscribe(self) {
        drop(self.stop);
        // An error means that the runtime is going down: then nothing runs any more either.
        let _ = self.task.await;
    }
}

async fn run<F, R>(mut events: Ejections, mut handler: F, mut stopped: oneshot::Receiver<()>)
where
    F: FnMut(EjectionEvent) -> R,
    R: Future<Output = ()>,
{
    loop {
        let event = tokio::select! {
            biased;
            _ = &mut stopped => return,
            event = events.next() => event,
        };
        let Some(event) = event else { return };
        // The call that makes the future may panic as well as the future itself.
        let call = AssertUnwindSafe(async { handler(event).await }).catch_unwind();
        if call.await.is_err() {
            tracing::error!("a handler of ejections panicked; it is called again at the next one");
        }
    }
}
