//! Whether any server has answered lately.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::{sync::Notify, time::Instant};

/// Told by every exchange, read by the transport's supervisor.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    state: Mutex<Heard>,
    failing: Notify,
}

/// What was heard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Heard {
    /// When a server answered last.
    pub(super) last: Option<Instant>,
    /// Since when no server of a round has answered, if none has since.
    pub(super) failing: Option<Instant>,
}

impl Pulse {
    /// A server answered.
    pub(super) fn heard(&self) {
        *self.state() = Heard { last: Some(Instant::now()), failing: None };
    }

    /// Every server was tried and none answered.
    pub(super) fn failed(&self) {
        let first = {
            let mut state = self.state();
            let first = state.failing.is_none();
            state.failing.get_or_insert_with(Instant::now);
            first
        };
        if first {
            self.failing.notify_one();
        }
    }

    pub(super) fn read(&self) -> Heard {
        *self.state()
    }

    /// Waits until rounds begin to fail.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when the future is dropped.
    pub(super) async fn failing(&self) {
        self.failing.notified().await;
    }

    fn state(&self) -> MutexGuard<'_, Heard> {
        // Every critical section leaves a whole value, even if it panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
