use std::sync::Arc;

use tokio::time::Instant;

use crate::{Endpoint, Outcome, ServiceInstance, Target};

/// An instance that was picked for one call, which counts as in flight until this is finished or dropped.
///
/// Dropping it without [`Picked::finish`] means that the caller gave up: [`Outcome::Cancelled`].
#[derive(Debug)]
#[must_use = "dropping it ends the call as cancelled"]
pub struct Picked {
    endpoint: Arc<Endpoint>,
    /// Calls that began before an ejection are told from those after it by it.
    generation: u16,
    ended: bool,
}

impl Picked {
    /// `None` if the endpoint takes no call now: it was ejected a moment ago, or another call probes it.
    #[inline]
    pub(crate) fn begin(endpoint: &Arc<Endpoint>) -> Option<Self> {
        let generation = endpoint.node().begin(endpoint)?;
        Some(Self { endpoint: Arc::clone(endpoint), generation, ended: false })
    }

    /// The endpoint.
    #[must_use]
    pub const fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    /// The instance as the registry lists it.
    #[must_use]
    pub fn instance(&self) -> &ServiceInstance {
        self.endpoint.instance()
    }

    /// Where the request goes.
    #[must_use]
    pub fn target(&self) -> &Target {
        self.endpoint.target()
    }

    /// Tells that there is a good answer, whose rest may take long. A call that probes an ejected instance restores it by
    /// that; any other call is judged by its end alone.
    #[inline]
    pub fn answered(&self) {
        self.endpoint.node().answered(&self.endpoint, self.generation);
    }

    /// Tells how the call ended.
    pub fn finish(self, outcome: Outcome) {
        self.finish_at(outcome, Instant::now());
    }

    /// Like [`Picked::finish`] where the time is known already.
    pub(crate) fn finish_at(mut self, outcome: Outcome, now: Instant) {
        self.end(&outcome, now);
    }

    #[inline]
    fn end(&mut self, outcome: &Outcome, now: Instant) {
        self.ended = true;
        self.endpoint.node().end(&self.endpoint, self.generation, outcome, now);
    }
}

impl Drop for Picked {
    fn drop(&mut self) {
        if !self.ended {
            self.endpoint.node().cancel(&self.endpoint, self.generation);
        }
    }
}
