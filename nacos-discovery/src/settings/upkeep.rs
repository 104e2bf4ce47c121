use std::time::Duration;

use super::ServiceSettings;

/// How the list of a service is kept up to date.
#[derive(Debug, Clone)]
pub(crate) struct Upkeep {
    first_list_wait: Duration,
    coalescing: Duration,
    idle: Option<Duration>,
    max_stale: Option<Duration>,
}

impl Default for Upkeep {
    fn default() -> Self {
        Self {
            first_list_wait: Duration::from_secs(5),
            coalescing: Duration::from_millis(20),
            idle: Some(Duration::from_secs(600)),
            max_stale: None,
        }
    }
}

impl ServiceSettings {
    /// How long a request waits for the first list of a service, default 5 s.
    #[must_use]
    pub const fn with_first_list_wait(mut self, wait: Duration) -> Self {
        self.upkeep.first_list_wait = wait;
        self
    }

    /// Lists that follow one another within this time become one, default 20 ms. The first one is taken over at once, and so
    /// is each that takes an instance away.
    #[must_use]
    pub const fn with_coalescing(mut self, window: Duration) -> Self {
        self.upkeep.coalescing = window;
        self
    }

    /// After how long without a request a service is not watched any longer, default 10 min; zero = never. The next request
    /// begins anew. A service whose [`crate::Endpoints`] somebody holds is never idle.
    #[must_use]
    pub fn with_idle_time(mut self, idle: Duration) -> Self {
        self.upkeep.idle = Some(idle).filter(|idle| !idle.is_zero());
        self
    }

    /// For how long the last list is used while nobody keeps it up to date; default for ever (`None`). After that requests
    /// fail with [`crate::NoInstanceReason::Stale`], until the list is kept up to date again.
    #[must_use]
    pub const fn with_max_stale(mut self, limit: Option<Duration>) -> Self {
        self.upkeep.max_stale = limit;
        self
    }
}

impl Upkeep {
    pub(crate) const fn first_list_wait(&self) -> Duration {
        self.first_list_wait
    }

    pub(crate) const fn coalescing(&self) -> Duration {
        self.coalescing
    }

    pub(crate) const fn idle(&self) -> Option<Duration> {
        self.idle
    }

    pub(crate) const fn max_stale(&self) -> Option<Duration> {
        self.max_stale
    }
}
