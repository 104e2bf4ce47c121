use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::estimate::Estimate;
use super::{Outcome, Pace};

/// What an instance asks for at most when it has too much to do, in seconds.
const LONGEST_RETRY_AFTER: f32 = 60.0;

/// How much an instance has to do for this process, and how fast it is.
#[derive(Debug, Default)]
pub(crate) struct Load {
    in_flight: AtomicU32,
    estimate: Estimate,
}

impl Load {
    /// Of an instance that is taken for as fast as this.
    pub(super) fn new(seed: Option<Duration>, now: Instant, pace: &Pace) -> Self {
        let load = Self::default();
        if let Some(seed) = seed {
            load.estimate.set(seed.as_secs_f32(), pace.tick(now));
        }
        load
    }

    pub(super) fn begin(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Learns from how a call ended. One that failed counts as slow, however fast it failed: otherwise an instance that fails
    /// at once would attract the requests.
    #[inline]
    pub(super) fn observe(&self, outcome: &Outcome, now: Instant, pace: &Pace) {
        let sample = match outcome {
            Outcome::Success { latency } => latency.as_secs_f32(),
            Outcome::ServerFailure { latency } => latency.as_secs_f32().max(pace.penalty()),
            Outcome::Overloaded { retry_after } => {
                let asked = retry_after.unwrap_or_default().as_secs_f32().min(LONGEST_RETRY_AFTER);
                asked.max(pace.penalty())
            }
            Outcome::Transport(_) => pace.penalty(),
            Outcome::Cancelled => return,
        };
        let tick = pace.tick(now);
        self.estimate.observe(sample, tick, pace);
        pace.advance(tick, matches!(outcome, Outcome::Success { .. }).then_some(sample));
    }

    /// Forgets how fast it was: it is taken for as fast as is usual.
    pub(crate) fn forget(&self) {
        self.estimate.forget();
    }

    /// Seconds until it answers.
    pub(super) fn latency(&self, pace: &Pace) -> Option<f32> {
        self.estimate.read(pace)
    }
}
