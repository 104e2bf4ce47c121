use std::fmt;
use std::future::Future;

use super::hook::Hook;
use super::{ShutdownLimits, Traffic};

/// What a shutdown does beside deregistering, and how long its steps may take.
///
/// Hooks run in tasks of their own, one after the other in the order they were added; one that panics or is late is given
/// up and reported, and the shutdown goes on. A hook that waits for the shutdown itself is late for sure.
#[derive(Default)]
pub struct ShutdownPlan {
    pub(in crate::register) limits: ShutdownLimits,
    pub(super) traffic: Option<Traffic>,
    pub(super) before: Vec<Hook>,
    pub(super) drain: Option<Hook>,
    pub(super) after: Vec<Hook>,
    pub(in crate::register) keep_client: bool,
}

impl ShutdownPlan {
    /// The default limits, and nothing beside.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the limits.
    #[must_use]
    pub const fn limits(mut self, limits: ShutdownLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Lets the wait for consumers end early when no request is under way. Without it that wait is always whole.
    #[must_use]
    pub fn traffic(mut self, traffic: Traffic) -> Self {
        self.traffic = Some(traffic);
        self
    }

    /// Adds something to do before the instance is deregistered.
    #[must_use]
    pub fn before_deregistration<F>(mut self, hook: impl FnOnce() -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.before.push(Hook::new(hook));
        self
    }

    /// Sets how to stop accepting and to finish the requests under way. It is dropped at the limit of the drain.
    #[must_use]
    pub fn drain<F>(mut self, server: impl FnOnce() -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.drain = Some(Hook::new(server));
        self
    }

    /// Adds something to do when no request is under way any more: flush, close databases.
    #[must_use]
    pub fn after_drain<F>(mut self, hook: impl FnOnce() -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.after.push(Hook::new(hook));
        self
    }

    /// Leaves the client of the registry open, for others who use it.
    #[must_use]
    pub const fn keep_client(mut self) -> Self {
        self.keep_client = true;
        self
    }
}

impl fmt::Debug for ShutdownPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShutdownPlan")
            .field("limits", &self.limits)
            .field("traffic", &self.traffic)
            .field("hooks", &(self.before.len(), self.after.len()))
            .field("drain", &self.drain.is_some())
            .field("keep_client", &self.keep_client)
            .finish()
    }
}
