//! What came on push streams, counted over all connections of a transport.

use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of one transport.
#[derive(Debug, Default)]
pub(crate) struct StreamCounters {
    pushes: AtomicU64,
    unreadable: AtomicU64,
    unknown: AtomicU64,
}

/// The values of [`StreamCounters`] at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StreamCounts {
    /// Pushes handed over.
    pub(crate) pushes: u64,
    /// Messages that could not be read; answered negatively where they had an id.
    pub(crate) unreadable: u64,
    /// Messages of a type this client has no use for; not answered.
    pub(crate) unknown: u64,
}

impl StreamCounters {
    pub(crate) fn push(&self) {
        self.pushes.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn unreadable(&self) {
        self.unreadable.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn unknown(&self) {
        self.unknown.fetch_add(1, Ordering::Relaxed);
    }

    /// The values now.
    pub(crate) fn counts(&self) -> StreamCounts {
        StreamCounts {
            pushes: self.pushes.load(Ordering::Relaxed),
            unreadable: self.unreadable.load(Ordering::Relaxed),
            unknown: self.unknown.load(Ordering::Relaxed),
        }
    }
}
