use std::sync::Arc;

use tokio::time::Instant;

use crate::Endpoint;
use crate::pick::{NoInstanceReason, PickContext, Tier};

/// What picks of a service read: immutable, replaced as a whole.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) revision: u64,
    /// The most preferred one first; none is empty.
    pub(super) tiers: Vec<Tier>,
    /// Why there is no tier, if there is none.
    pub(super) empty: NoInstanceReason,
    pub(super) stale_since: Option<Instant>,
}

impl Snapshot {
    /// An endpoint of the first tier that has one for the request.
    #[inline]
    pub(super) fn pick(&self, cx: &mut PickContext<'_>) -> Option<&Arc<Endpoint>> {
        self.tiers.iter().find_map(|tier| tier.pick(cx))
    }

    /// All endpoints: those of the last tier.
    pub(super) fn endpoints(&self) -> impl Iterator<Item = &Arc<Endpoint>> {
        self.tiers.last().into_iter().flat_map(|tier| tier.members()).map(|member| member.endpoint())
    }
}
