use std::time::Duration;

const WINDOW: Duration = Duration::from_secs(30);
const MIN_SHARE: f64 = 0.1;
const AGGRESSION: f64 = 1.0;
/// Parts of the window after which weights are made anew: 1 % of the weight each while it rises in a line.
const STEPS: u32 = 100;
const SHORTEST_STEP: Duration = Duration::from_millis(50);
const LONGEST_WINDOW: Duration = Duration::from_secs(86_400);

/// Lets the share of a new instance rise over some time, so that its caches and connections can warm up.
///
/// Only instances that join while this process knows an older one are started slowly, and those that come back from an
/// ejection: by when this process saw them first, not by any stamp of theirs. The weight in the tables is
/// `weight × max(min_share, (age / window)^(1 / aggression))`, the form that Envoy gives it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SlowStart {
    window: Duration,
    min_share: f64,
    aggression: f64,
}

impl Default for SlowStart {
    fn default() -> Self {
        Self { window: WINDOW, min_share: MIN_SHARE, aggression: AGGRESSION }
    }
}

impl SlowStart {
    /// The defaults: 30 s, beginning at 10 %, in a line.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How long it takes until an instance has its whole weight, default 30 s, at least 50 ms and at most a day.
    #[must_use]
    pub fn with_window(mut self, window: Duration) -> Self {
        self.window = window.clamp(SHORTEST_STEP, LONGEST_WINDOW);
        self
    }

    /// The share of its weight that an instance has at least, default 0.1, limited to 0.001 … 1; what is no number stands
    /// for 1.
    #[must_use]
    pub fn with_min_share(mut self, share: f64) -> Self {
        self.min_share = if share.is_nan() { 1.0 } else { share.clamp(0.001, 1.0) };
        self
    }

    /// How fast the share rises at first, default 1: in a line. Above 1 it rises faster at first, below 1 slower. Limited to
    /// 0.1 … 10; what is no number stands for 1.
    #[must_use]
    pub fn with_aggression(mut self, aggression: f64) -> Self {
        self.aggression = if aggression.is_nan() { 1.0 } else { aggression.clamp(0.1, 10.0) };
        self
    }

    pub(crate) const fn window(&self) -> Duration {
        self.window
    }

    /// The share of its weight that an instance of this age has.
    pub(crate) fn share(&self, age: Duration) -> f64 {
        if age >= self.window {
            return 1.0;
        }
        let part = age.as_secs_f64() / self.window.as_secs_f64();
        part.powf(1.0 / self.aggression).clamp(self.min_share, 1.0)
    }

    /// How long weights may stay as they are while one rises.
    pub(crate) fn step(&self) -> Duration {
        (self.window / STEPS).max(SHORTEST_STEP)
    }
}
