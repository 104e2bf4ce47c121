use std::sync::atomic::{AtomicU32, Ordering};

/// How much an instance has to do for this process, and how fast it is.
#[derive(Debug, Default)]
pub(super) struct Load {
    in_flight: AtomicU32,
}

impl Load {
    pub(super) fn begin(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Relaxed)
    }
}
