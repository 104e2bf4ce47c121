use std::time::Duration;

use super::{EjectSettings, ServiceSettings, SlowStart};

const LATENCY_DECAY: Duration = Duration::from_secs(10);
const FAILURE_PENALTY: Duration = Duration::from_secs(1);

/// What is made of the calls of single instances.
#[derive(Debug, Clone)]
pub(super) struct NodeSettings {
    ejection: Option<EjectSettings>,
    slow_start: Option<SlowStart>,
    latency_decay: Duration,
    failure_penalty: Duration,
}

impl Default for NodeSettings {
    fn default() -> Self {
        Self {
            ejection: Some(EjectSettings::default()),
            slow_start: None,
            latency_decay: LATENCY_DECAY,
            failure_penalty: FAILURE_PENALTY,
        }
    }
}

impl ServiceSettings {
    /// When an instance that fails is taken out of the choice, default [`EjectSettings::default`]; `None` for never.
    #[must_use]
    pub fn with_ejection(mut self, ejection: Option<EjectSettings>) -> Self {
        self.node.ejection = ejection;
        self
    }

    /// Lets the share of new instances rise slowly, default `None`: they have all of it at once.
    #[must_use]
    pub const fn with_slow_start(mut self, slow_start: Option<SlowStart>) -> Self {
        self.node.slow_start = slow_start;
        self
    }

    /// After how long an old latency counts 1/e against a new one that is lower, default 10 s, at least 1 ms. Higher ones count
    /// at once.
    #[must_use]
    pub const fn with_latency_decay(mut self, decay: Duration) -> Self {
        self.node.latency_decay = decay;
        self
    }

    /// The latency that a failed call counts as, if it took less, default 1 s: an instance that fails at once must not look
    /// like a fast one. For policies that look at latencies.
    #[must_use]
    pub const fn with_failure_penalty(mut self, penalty: Duration) -> Self {
        self.node.failure_penalty = penalty;
        self
    }

    pub(crate) const fn ejection(&self) -> Option<&EjectSettings> {
        self.node.ejection.as_ref()
    }

    pub(crate) const fn slow_start(&self) -> Option<&SlowStart> {
        self.node.slow_start.as_ref()
    }

    pub(crate) const fn latency_decay(&self) -> Duration {
        self.node.latency_decay
    }

    pub(crate) const fn failure_penalty(&self) -> Duration {
        self.node.failure_penalty
    }
}
