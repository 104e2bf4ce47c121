//! Handlers: user code that runs on each change, in a task of its own.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use futures_util::FutureExt;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::client::Client;
use super::subscription::Subscription;
use crate::error::StartError;
use crate::model::ServiceChange;

const IDLE: u8 = 0;
const RUNNING: u8 = 1;
const CLOSED: u8 = 2;

/// Decides between "the handler begins" and "the listener is gone", once for each change.
#[derive(Debug, Default)]
struct Gate {
    state: AtomicU8,
    /// The task has ended.
    ended: CancellationToken,
    close: Notify,
}

impl Gate {
    fn enter(&self) -> bool {
        self.state.compare_exchange(IDLE, RUNNING, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    fn leave(&self) {
        // Fails when the gate was closed meanwhile, and then it stays closed.
        let _ = self.state.compare_exchange(RUNNING, IDLE, Ordering::AcqRel, Ordering::Acquire);
    }

    fn close(&self) {
        self.state.store(CLOSED, Ordering::Release);
        self.close.notify_one();
    }
}

/// A handler that is called on changes. Dropping it unsubscribes: no call begins after that, one that runs may finish.
#[derive(Debug)]
#[must_use = "dropping a listener unsubscribes"]
pub struct Listener {
    gate: Arc<Gate>,
}

impl Listener {
    /// Runs `handler` for the items of `subscription` in a task of its own.
    pub(crate) fn spawn<F, R>(client: &Client, subscription: Subscription, handler: F) -> Result<Self, StartError>
    where
        F: FnMut(ServiceChange) -> R + Send + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        let runtime = client.runtime()?;
        let gate = Arc::new(Gate::default());
        let stop = client.stop_handlers.clone();
        let kill = client.kill_handlers.clone();
        let core = Arc::clone(&client.core);
        let run = run(subscription, handler, Arc::clone(&gate), stop, Arc::clone(&core));
        let own = Arc::clone(&gate);
        // Ends when the gate is closed, when the client is shut down, or when its filter panics. The client waits for it.
        client.handlers.spawn_on(
            async move {
                let _ended = own.ended.clone().drop_guard();
                let ended = tokio::select! {
                    biased;
                    () = kill.cancelled() => Ok(()),
                    ended = AssertUnwindSafe(run).catch_unwind() => ended,
                };
                if ended.is_err() {
                    core.counters.listener_panics.add();
                    tracing::error!("the filter of a listener panicked, the listener ends");
                }
            },
            &runtime,
        );
        Ok(Self { gate })
    }

    /// Ends the listener and waits until a call that runs has finished.
    ///
    /// # Cancel safety
    /// Dropping the future ends the waiting; the listener is unsubscribed in any case.
    pub async fn unsubscribe(self) {
        self.gate.close();
        self.gate.ended.cancelled().await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.gate.close();
    }
}

async fn run<F, R>(
    mut subscription: Subscription,
    mut handler: F,
    gate: Arc<Gate>,
    stop: CancellationToken,
    core: Arc<super::core::Core>,
) where
    F: FnMut(ServiceChange) -> R,
    R: Future<Output = ()>,
{
    loop {
        let change = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = gate.close.notified() => return,
            change = subscription.next() => change,
        };
        let Some(change) = change else { return };
        if !gate.enter() {
            return;
        }
        // The call that makes the future may panic as well as the future itself.
        let call = AssertUnwindSafe(async { handler(change).await }).catch_unwind();
        if call.await.is_err() {
            core.counters.listener_panics.add();
            tracing::error!(service = %subscription.service(), "a handler panicked; it is called again at the next change");
        }
        gate.leave();
    }
}
