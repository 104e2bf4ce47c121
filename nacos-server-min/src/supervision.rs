use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

use crate::context::Context;

/// Whether a part of the server has panicked. There is no going on as if nothing had happened: what the panic left behind is
/// unknown, so the server stops claiming to be ready.
#[derive(Debug, Default)]
pub(crate) struct Supervisor {
    failed: AtomicBool,
    told: Notify,
}

impl Supervisor {
    pub(crate) fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    fn fail(&self) {
        if !self.failed.swap(true, Ordering::SeqCst) {
            tracing::error!("a part of the server panicked, it is no longer ready");
        }
        self.told.notify_waiters();
    }

    pub(crate) async fn wait(&self) {
        loop {
            let told = self.told.notified();
            tokio::pin!(told);
            // Listening begins before the question, or the answer could come in between and be missed.
            told.as_mut().enable();
            if self.failed() {
                return;
            }
            told.await;
        }
    }
}

/// Lives inside of a task and notices if that unwinds.
pub(crate) struct PanicWatch(pub(crate) Arc<Context>);

impl Drop for PanicWatch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.supervisor.fail();
        }
    }
}
