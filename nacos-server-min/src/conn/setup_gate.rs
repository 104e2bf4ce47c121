use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Lets a request that overtook its connection's set-up wait for it, instead of being told that the connection is unknown.
#[derive(Debug, Default)]
pub(crate) struct SetupGate {
    /// Streams that are open and have not said anything yet.
    undecided: AtomicUsize,
    decided: Notify,
}

impl SetupGate {
    pub(crate) fn stream_opened(&self) {
        self.undecided.fetch_add(1, Ordering::SeqCst);
    }

    /// The stream's first message was handled, or will never come.
    pub(crate) fn stream_decided(&self) {
        self.undecided.fetch_sub(1, Ordering::SeqCst);
        self.decided.notify_waiters();
    }

    pub(crate) fn is_undecided(&self) -> bool {
        self.undecided.load(Ordering::SeqCst) > 0
    }

    /// Waits until no stream is undecided.
    ///
    /// # Cancel safety
    ///
    /// Holds nothing.
    pub(crate) async fn wait(&self) {
        loop {
            let decided = self.decided.notified();
            tokio::pin!(decided);
            // Listening begins before the question, or the answer could come in between and be missed.
            decided.as_mut().enable();
            if !self.is_undecided() {
                return;
            }
            decided.await;
        }
    }
}
