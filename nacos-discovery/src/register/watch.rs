use tokio::sync::watch;

use super::{Record, RegistrationState};

/// The state of a registration, to be looked at and waited on. It keeps nothing registered.
#[derive(Debug, Clone)]
pub struct RegistrationWatch {
    record: watch::Receiver<Record>,
    seen: RegistrationState,
}

impl RegistrationWatch {
    pub(super) fn new(record: watch::Receiver<Record>) -> Self {
        let seen = record.borrow().state.clone();
        Self { record, seen }
    }

    /// The state now.
    #[must_use]
    pub fn current(&self) -> RegistrationState {
        self.record.borrow().state.clone()
    }

    /// Waits until the state is another one than this watch told last, and returns it; `None` once it cannot change any more.
    ///
    /// # Cancel safety
    /// Cancel safe: a change is either returned or comes again, newer.
    pub async fn changed(&mut self) -> Option<RegistrationState> {
        let seen = self.seen.clone();
        let state = self.record.wait_for(|record| record.state != seen).await.ok()?.state.clone();
        self.seen = state.clone();
        Some(state)
    }
}
