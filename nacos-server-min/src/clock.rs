use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// The server's two clocks: ticks for every delay and time-out, the wall clock only for what is shown to others.
#[derive(Debug)]
pub(crate) struct Clock {
    start: Instant,
    skew_ms: AtomicI64,
}

impl Clock {
    pub(crate) fn new(skew_ms: i64) -> Self {
        Self { start: Instant::now(), skew_ms: AtomicI64::new(skew_ms) }
    }

    /// Time since the server started; never steps.
    pub(crate) fn ticks(&self) -> Duration {
        self.start.elapsed()
    }

    pub(crate) fn at(&self, ticks: Duration) -> Instant {
        self.start + ticks
    }

    /// Ticks in whole seconds.
    pub(crate) fn seconds(&self) -> u32 {
        u32::try_from(self.ticks().as_secs()).unwrap_or(u32::MAX)
    }

    /// Milliseconds since 1970, with the skew that a test gave this server.
    pub(crate) fn wall_ms(&self) -> i64 {
        let real =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(0));
        real.saturating_add(self.skew_ms.load(Ordering::Relaxed))
    }

    pub(crate) fn set_skew(&self, ms: i64) {
        self.skew_ms.store(ms, Ordering::Relaxed);
    }
}
