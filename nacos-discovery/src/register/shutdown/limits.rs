use std::time::Duration;

use crate::{ShutdownMode, ShutdownSettings};

/// How long the steps of a shutdown may take. Each ends at its own limit, whatever the others took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownLimits {
    /// Each hook; default 10 s.
    pub hook: Duration,
    /// Deregistration, until the registry's answer; default 3 s.
    pub deregistration: Duration,
    /// The wait until consumers know; default 10 s.
    pub propagation: Duration,
    /// How long that wait takes at least, from the deregistration and from the last request that arrived after it; default
    /// 2 s. It ends then if no request is under way.
    pub quiet: Duration,
    /// Requests under way, once nothing is accepted any more; default 30 s.
    pub drain: Duration,
    /// Closing the client; default 5 s.
    pub close: Duration,
}

impl Default for ShutdownLimits {
    fn default() -> Self {
        Self {
            hook: Duration::from_secs(10),
            deregistration: Duration::from_secs(3),
            propagation: Duration::from_secs(10),
            quiet: Duration::from_secs(2),
            drain: Duration::from_secs(30),
            close: Duration::from_secs(5),
        }
    }
}

impl From<&ShutdownSettings> for ShutdownLimits {
    fn from(settings: &ShutdownSettings) -> Self {
        match settings.mode {
            ShutdownMode::Graceful => {
                Self { propagation: settings.propagation_wait, drain: settings.drain, ..Self::default() }
            }
            ShutdownMode::Immediate => Self { propagation: Duration::ZERO, drain: Duration::ZERO, ..Self::default() },
        }
    }
}
