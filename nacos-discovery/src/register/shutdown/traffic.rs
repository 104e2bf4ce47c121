use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

/// Counts the requests under way, so that a shutdown need not wait longer than they do. Cheap to clone; all clones count
/// together.
#[derive(Debug, Clone, Default)]
pub struct Traffic {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    counts: Mutex<Counts>,
    idle: Notify,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) under_way: usize,
    pub(super) last_arrival: Option<Instant>,
}

/// One request under way: it is over when this is dropped.
#[derive(Debug)]
#[must_use = "dropping it ends the request"]
pub struct InFlight {
    shared: Arc<Shared>,
}

impl Traffic {
    /// No request yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A request arrived. Keep what is returned until its answer is written or given up.
    pub fn arrived(&self) -> InFlight {
        let mut counts = self.shared.lock();
        counts.under_way += 1;
        counts.last_arrival = Some(Instant::now());
        InFlight { shared: Arc::clone(&self.shared) }
    }

    /// How many requests are under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.shared.lock().under_way
    }

    /// Returns what is counted now, and a future that ends when no request is under way any more.
    pub(super) fn look(&self) -> (Counts, impl Future<Output = ()>) {
        // Listening begins before looking, so that nothing falls between.
        let idle = self.shared.idle.notified();
        (*self.shared.lock(), idle)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut counts = self.shared.lock();
        counts.under_way = counts.under_way.saturating_sub(1);
        if counts.under_way == 0 {
            self.shared.idle.notify_waiters();
        }
    }
}
