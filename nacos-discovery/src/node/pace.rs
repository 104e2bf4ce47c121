use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// What the estimates of all instances of one service share: a clock that calls wind up as they end, so that no pick has to
/// read one, and the latency that is usual among them.
#[derive(Debug)]
pub(crate) struct Pace {
    epoch: Instant,
    /// Milliseconds since the epoch in the upper half, the usual latency in seconds (an `f32`, 0 = unknown) in the lower.
    word: AtomicU64,
    /// After how many seconds old knowledge counts 1/e.
    decay: f32,
    /// What a failed call counts as, in seconds.
    penalty: f32,
}

impl Pace {
    pub(crate) fn new(epoch: Instant, decay: Duration, penalty: Duration) -> Self {
        let decay = decay.as_secs_f32().max(1e-3);
        Self { epoch, word: AtomicU64::new(0), decay, penalty: penalty.as_secs_f32() }
    }

    pub(crate) const fn epoch(&self) -> Instant {
        self.epoch
    }

    /// Milliseconds since the epoch, which start anew after 49 days: estimates compare them as nearby points of a circle.
    pub(super) fn tick(&self, now: Instant) -> u32 {
        now.saturating_duration_since(self.epoch).as_millis() as u32
    }

    /// When a call ended last, and the usual latency.
    pub(super) fn read(&self) -> (u32, Option<f32>) {
        let word = self.word.load(Ordering::Relaxed);
        ((word >> 32) as u32, known(word))
    }

    /// A call ended now. At most one of each millisecond counts, so that threads do not fight for the word.
    #[inline]
    pub(super) fn advance(&self, tick: u32, latency: Option<f32>) {
        let word = self.word.load(Ordering::Relaxed);
        let passed = passed((word >> 32) as u32, tick);
        if passed == 0 && (known(word).is_some() || latency.is_none()) {
            return;
        }
        let usual = match (known(word), latency) {
            (Some(usual), Some(latency)) => latency + (usual - latency) * self.kept(passed),
            (usual, latency) => latency.or(usual).unwrap_or(0.0),
        };
        let next = u64::from(tick) << 32 | u64::from(usual.to_bits());
        // Whoever loses was outdone by a call that ended in the same moment; one sample less does no harm.
        let _ = self.word.compare_exchange(word, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The part of what was known before that still counts after so many milliseconds.
    pub(super) fn kept(&self, milliseconds: u32) -> f32 {
        (-(milliseconds as f32) / (1e3 * self.decay)).exp()
    }

    pub(super) const fn penalty(&self) -> f32 {
        self.penalty
    }
}

/// Milliseconds from `from` to `to`; none if it lies before, as it may where threads read the clock one after the other.
pub(super) fn passed(from: u32, to: u32) -> u32 {
    (to.wrapping_sub(from) as i32).max(0) as u32
}

/// The latency in the lower half of a word.
pub(super) fn known(word: u64) -> Option<f32> {
    let latency = f32::from_bits(word as u32);
    (latency > 0.0).then_some(latency)
}
