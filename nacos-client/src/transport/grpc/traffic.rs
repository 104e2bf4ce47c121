//! What passes over a connection: when it last had traffic that keeps it alive, and since when calls wait for their answers.
//!
//! Calls are counted per second of their start in a ring, so that a call costs two atomic additions and no timer.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

/// Seconds in the ring; calls never grow older than the call limit, which must be below this.
const RING: u64 = 64;

/// Counters of one connection.
#[derive(Debug)]
pub(super) struct Traffic {
    start: Instant,
    /// Milliseconds after `start` when both sides last had proof of each other.
    heard: AtomicU64,
    /// Unanswered calls by the second of their start.
    waiting: [AtomicU32; RING as usize],
}

impl Traffic {
    /// The longest call limit that can be watched.
    pub(super) const MAX_CALL_LIMIT: Duration = Duration::from_secs(RING - 4);

    pub(super) fn new() -> Self {
        Self { start: Instant::now(), heard: AtomicU64::new(0), waiting: std::array::from_fn(|_| AtomicU32::new(0)) }
    }

    /// Time since the connection came up.
    pub(super) fn age(&self) -> Duration {
        self.start.elapsed()
    }

    /// The server was heard now, and by something that proves to the server that we live. Answers to requests it did not handle (301, 302, 502) prove
    /// nothing: a client that only had those would be thrown out after 20 s.
    pub(super) fn heard(&self) {
        let now = u64::try_from(self.age().as_millis()).unwrap_or(u64::MAX);
        self.heard.fetch_max(now, Ordering::Relaxed);
    }

    /// Age of the connection when the server was last heard.
    pub(super) fn last_heard(&self) -> Duration {
        Duration::from_millis(self.heard.load(Ordering::Relaxed))
    }

    /// A call begins; it waits until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Waiting {
        let second = self.age().as_secs();
        self.slot(second).fetch_add(1, Ordering::Relaxed);
        Waiting { traffic: Arc::clone(self), second }
    }

    /// Age of the connection when the oldest call that still waits had surely begun: at most a second too late.
    pub(super) fn oldest_waiting(&self) -> Option<Duration> {
        let now = self.age().as_secs();
        let oldest = now.saturating_sub(RING - 1);
        let second = (oldest..=now).find(|&second| self.slot(second).load(Ordering::Relaxed) > 0)?;
        Some(Duration::from_secs(second + 1))
    }

    fn slot(&self, second: u64) -> &AtomicU32 {
        let index = (second % RING) as usize;
        &self.waiting[index]
    }
}

/// A call that waits for its answer.
#[derive(Debug)]
pub(super) struct Waiting {
    traffic: Arc<Traffic>,
    second: u64,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.traffic.slot(self.second).fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_oldest_waiting_call_is_known_to_the_second() {
        let traffic = Arc::new(Traffic::new());
        assert_eq!(traffic.oldest_waiting(), None);
        tokio::time::advance(Duration::from_millis(2_300)).await;
        let first = traffic.begin();
        tokio::time::advance(Duration::from_secs(3)).await;
        let second = traffic.begin();
        assert_eq!(traffic.oldest_waiting(), Some(Duration::from_secs(3)));
        drop(first);
        assert_eq!(traffic.oldest_waiting(), Some(Duration::from_secs(6)));
        drop(second);
        assert_eq!(traffic.oldest_waiting(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn hearing_moves_forward_only() {
        let traffic = Traffic::new();
        tokio::time::advance(Duration::from_millis(1_500)).await;
        traffic.heard();
        assert_eq!(traffic.last_heard(), Duration::from_millis(1_500));
    }
}
