//! What beats came to, counted over all epochs of a transport.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::transport::TransportCounts;

/// The counters of one transport.
#[derive(Debug, Default)]
pub(super) struct BeatCounters {
    ended: AtomicU64,
    failed: AtomicU64,
    restored: AtomicU64,
    late: AtomicU64,
    beating: AtomicUsize,
}

impl BeatCounters {
    pub(super) fn ended(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn restored(&self) {
        self.restored.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn late(&self) {
        self.late.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn beating(&self, now: usize) {
        self.beating.store(now, Ordering::Relaxed);
    }

    /// The values now.
    pub(super) fn counts(&self) -> TransportCounts {
        TransportCounts {
            beats: self.ended.load(Ordering::Relaxed),
            beats_failed: self.failed.load(Ordering::Relaxed),
            beats_restored: self.restored.load(Ordering::Relaxed),
            beats_late: self.late.load(Ordering::Relaxed),
            beating: self.beating.load(Ordering::Relaxed),
            ..TransportCounts::default()
        }
    }
}
