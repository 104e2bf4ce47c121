use std::time::Duration;

const MINIMUM: u32 = 20;
const WINDOW: Duration = Duration::from_secs(10);

/// Ejects an instance by the share of its calls that fail, also where no failures follow each other.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct FailureRate {
    share: f64,
    minimum: u32,
    window: Duration,
}

impl FailureRate {
    /// Ejects when more than `share` of the calls of the last 10 s failed or were refused as too many, if there were 20 or
    /// more. Limited to 0 … 1; what is no number stands for 1, which never ejects.
    #[must_use]
    pub fn new(share: f64) -> Self {
        let share = if share.is_nan() { 1.0 } else { share.clamp(0.0, 1.0) };
        Self { share, minimum: MINIMUM, window: WINDOW }
    }

    /// How many calls there must be within the window, default 20, at least 1.
    #[must_use]
    pub const fn with_minimum(mut self, calls: u32) -> Self {
        self.minimum = if calls == 0 { 1 } else { calls };
        self
    }

    /// How far back calls count, default 10 s, at least 10 ms. It moves on by a tenth of its length.
    #[must_use]
    pub fn with_window(mut self, window: Duration) -> Self {
        self.window = window.max(Duration::from_millis(10));
        self
    }

    pub(crate) const fn window(&self) -> Duration {
        self.window
    }

    /// Whether so many failures among so many calls are too many.
    pub(crate) fn is_exceeded(&self, failed: u32, calls: u32) -> bool {
        calls >= self.minimum && f64::from(failed) > self.share * f64::from(calls)
    }
}
