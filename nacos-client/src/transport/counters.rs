//! What a transport has done, counted over all its connections.

use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of push streams.
#[derive(Debug, Default)]
pub(crate) struct StreamCounters {
    pushes: AtomicU64,
    unreadable: AtomicU64,
    unknown: AtomicU64,
}

/// What a transport has done so far. Each number only grows, but for the last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TransportCounts {
    /// Pushes handed over.
    pub(crate) pushes: u64,
    /// Messages that could not be read; answered negatively where they had an id.
    pub(crate) unreadable: u64,
    /// Messages of a type this client has no use for; not answered.
    pub(crate) unknown: u64,
    /// Pushes whose senders are none of the servers; neither read nor answered.
    pub(crate) foreign: u64,
    /// Times that there was no socket for pushes, or that it broke.
    pub(crate) push_sockets_lost: u64,
    /// Beats that ended, well or not.
    pub(crate) beats: u64,
    /// Of them failed.
    pub(crate) beats_failed: u64,
    /// Of them answered with "unknown instance", and the instance registered again.
    pub(crate) beats_restored: u64,
    /// Beats that left more than one period late.
    pub(crate) beats_late: u64,
    /// Right now: instances that beat.
    pub(crate) beating: usize,
}

impl TransportCounts {
    /// The counts of two transports, or of two parts of one.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            pushes: self.pushes + other.pushes,
            unreadable: self.unreadable + other.unreadable,
            unknown: self.unknown + other.unknown,
            foreign: self.foreign + other.foreign,
            push_sockets_lost: self.push_sockets_lost + other.push_sockets_lost,
            beats: self.beats + other.beats,
            beats_failed: self.beats_failed + other.beats_failed,
            beats_restored: self.beats_restored + other.beats_restored,
            beats_late: self.beats_late + other.beats_late,
            beating: self.beating + other.beating,
        }
    }
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
    pub(crate) fn counts(&self) -> TransportCounts {
        TransportCounts {
            pushes: self.pushes.load(Ordering::Relaxed),
            unreadable: self.unreadable.load(Ordering::Relaxed),
            unknown: self.unknown.load(Ordering::Relaxed),
            ..TransportCounts::default()
        }
    }
}
