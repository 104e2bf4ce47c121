//! What a client has done so far, as numbers.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of one client since it was built; each only ever grows, but for the last group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientStats {
    /// Pushes received.
    pub pushes: u64,
    /// Pushes that changed a list.
    pub pushes_applied: u64,
    /// Pushes that were equal to what was known.
    pub pushes_unchanged: u64,
    /// Pushes that were older than what was known; each leads to a check.
    pub pushes_overtaken: u64,
    /// Pushes by UDP that might be older than what was known: late or repeated ones, and the first of each server. Each
    /// leads to a query at once.
    pub pushes_doubtful: u64,
    /// Pushes that nobody had asked for any more, or of a connection that had ended.
    pub pushes_dropped: u64,
    /// Packets on the port of UDP pushes whose senders are none of the servers; see [`UdpPush::senders`](crate::UdpPush).
    pub pushes_foreign: u64,
    /// Times that no socket for UDP pushes could be made, or that it broke; there is a new one soon, or another attempt.
    pub push_sockets_lost: u64,
    /// Messages of servers that could not be read.
    pub unreadable: u64,
    /// Lists that a check or reconciliation found to differ from the server's, although no push had said so.
    pub repairs: u64,
    /// Queries sent because the protocol does not push reliably: over HTTP every list is polled.
    pub polls: u64,
    /// Polls that changed a list.
    pub polls_applied: u64,
    /// Times that removals began to be held.
    pub holds: u64,
    /// Connections made.
    pub connects: u64,
    /// Connections lost because the transport ended or broke.
    pub lost_transport: u64,
    /// Connections given up because the server did not answer in time.
    pub lost_unanswered: u64,
    /// Connections ended because the server did not know them any more.
    pub lost_unregistered: u64,
    /// Connections replaced because the server asked the client to move.
    pub moved: u64,
    /// Connections that ended for any other reason.
    pub lost_other: u64,
    /// Handlers that panicked.
    pub listener_panics: u64,
    /// Registrations and deregistrations sent.
    pub writes: u64,
    /// Of them refused or failed.
    pub writes_failed: u64,
    /// Beats over HTTP that ended, well or not.
    pub beats: u64,
    /// Of them failed; the next one of the instance leaves at its time all the same.
    pub beats_failed: u64,
    /// Of them answered with "unknown instance"; the instance was registered again at once.
    pub beats_restored: u64,
    /// Beats that left more than one period late, because the process did not get to run or the server did not answer others.
    pub beats_late: u64,
    /// Right now: instances that beat. Over gRPC none does: there the connection is the sign of life.
    pub beating: usize,
    /// Right now: services in the cache.
    pub services: usize,
    /// Right now: instances wanted but not acknowledged by the current connection.
    pub redo_backlog: usize,
}

macro_rules! counters {
    ($($name:ident),*) => {
        /// The growing part of [`ClientStats`].
        #[derive(Debug, Default)]
        pub(crate) struct Counters { $(pub(crate) $name: Counter),* }

        impl Counters {
            /// The numbers so far; what is counted elsewhere is zero.
            pub(crate) fn read(&self) -> ClientStats {
                ClientStats { $($name: self.$name.get(),)* ..ClientStats::default() }
            }
        }
    };
}

counters!(
    pushes,
    pushes_applied,
    pushes_unchanged,
    pushes_overtaken,
    pushes_doubtful,
    pushes_dropped,
    repairs,
    polls,
    polls_applied,
    holds,
    connects,
    lost_transport,
    lost_unanswered,
    lost_unregistered,
    moved,
    lost_other,
    listener_panics,
    writes,
    writes_failed
);

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
