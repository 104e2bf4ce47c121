use tokio::time::Instant;

use super::Outcome;
use super::load::Load;

/// What this process knows of one instance from its own calls. One per identity (address and cluster) within a service: it
/// survives every list that changes anything else of the instance.
#[derive(Debug)]
pub(crate) struct Node {
    load: Load,
    since: Instant,
}

impl Node {
    /// Of an instance seen for the first time at `now`.
    pub(crate) fn new(now: Instant) -> Self {
        Self { load: Load::default(), since: now }
    }

    /// A call begins.
    pub(crate) fn begin(&self) {
        self.load.begin();
    }

    /// A call that began has ended.
    pub(crate) fn end(&self, outcome: &Outcome, now: Instant) {
        self.load.end();
        let _ = (outcome, now);
    }

    /// Whether a request may go there.
    pub(crate) fn is_usable(&self) -> bool {
        true
    }

    /// Calls that have not ended.
    pub(crate) fn in_flight(&self) -> u32 {
        self.load.in_flight()
    }

    /// When it was seen first.
    pub(crate) fn since(&self) -> Instant {
        self.since
    }
}
