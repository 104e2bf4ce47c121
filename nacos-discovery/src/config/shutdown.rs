use std::time::Duration;

/// How the application ends; `server.shutdown`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ShutdownMode {
    /// Consumers are given time to notice, and requests under way to end.
    #[default]
    Graceful,
    /// Deregister and end.
    Immediate,
}

/// The settings of the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownSettings {
    /// `server.shutdown`, default graceful.
    pub mode: ShutdownMode,
    /// How long consumers get to notice the deregistration; `graceful-shutdown-wait-time`, default 10 s.
    pub propagation_wait: Duration,
    /// How long requests under way get; `spring.lifecycle.timeout-per-shutdown-phase`, default 30 s.
    pub drain: Duration,
}

impl Default for ShutdownSettings {
    fn default() -> Self {
        Self { mode: ShutdownMode::Graceful, propagation_wait: Duration::from_secs(10), drain: Duration::from_secs(30) }
    }
}
