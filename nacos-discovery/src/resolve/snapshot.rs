use std::sync::Arc;

use tokio::time::Instant;

use super::content::Content;
use super::list_status::ListStatus;
use crate::eject::Ejector;
use crate::pick::{Avoid, NoInstanceReason, PickContext, Tier};
use crate::{Endpoint, Picked};

/// What picks of a service read: immutable, replaced as a whole.
#[derive(Debug)]
pub(super) struct Snapshot {
    /// The most preferred one first; none is empty. Those of the content, or none while it must not be used.
    pub(super) tiers: Arc<[Tier]>,
    /// Why there is no tier, if there is none.
    pub(super) empty: NoInstanceReason,
    pub(super) content: Arc<Content>,
    pub(super) status: ListStatus,
}

impl Snapshot {
    pub(super) fn new(content: Arc<Content>, status: ListStatus) -> Self {
        Self { tiers: Arc::clone(&content.tiers), empty: content.empty.clone(), content, status }
    }

    /// The same list, which must not be used for this reason.
    pub(super) fn refused(content: Arc<Content>, status: ListStatus, why: NoInstanceReason) -> Self {
        Self { tiers: Arc::new([]), empty: why, content, status }
    }

    /// A call of an endpoint of the first tier that has one for the request.
    #[inline]
    pub(super) fn pick(&self, cx: &mut PickContext<'_>, ejector: &Ejector) -> Option<Picked> {
        let mut avoid = ejector.avoid(cx.tried().len());
        loop {
            cx.avoiding(avoid);
            let endpoint = self.tiers.iter().find_map(|tier| tier.pick(cx))?;
            if let Some(picked) = Picked::begin(endpoint) {
                return Some(picked);
            }
            // It was ejected in this moment, or another request is the one that probes it. What is open now is enough: every
            // further round needs one more ejection in the same moment.
            avoid = Avoid::Unusable { probing: 0 };
        }
    }

    /// The same while no instance is ejected or restored. [`Snapshot::pick`] looks at instances one after the other, so it
    /// may find none though there is one at every moment, if they take turns in being ejected.
    #[cold]
    pub(super) fn pick_settled(&self, cx: &mut PickContext<'_>, ejector: &Ejector) -> Option<Picked> {
        cx.avoiding(Avoid::Unusable { probing: 0 });
        // What is open stays so until this returns, so that beginning does not ask the ejector.
        ejector.settled(|| Picked::begin(self.tiers.iter().find_map(|tier| tier.any_taken(cx))?))
    }

    /// Why there is no tier, as of now.
    pub(super) fn refusal(&self) -> NoInstanceReason {
        match (&self.empty, self.status.stale_since()) {
            (NoInstanceReason::Stale { .. }, Some(since)) => NoInstanceReason::Stale { age: since.elapsed() },
            (empty, _) => empty.clone(),
        }
    }

    /// All endpoints: those of the last tier.
    pub(super) fn endpoints(&self) -> impl Iterator<Item = &Arc<Endpoint>> {
        self.tiers.last().into_iter().flat_map(|tier| tier.members()).map(|member| member.endpoint())
    }

    /// Those of the first tier.
    pub(super) fn preferred(&self) -> impl Iterator<Item = &Arc<Endpoint>> {
        self.tiers.first().into_iter().flat_map(|tier| tier.members()).map(|member| member.endpoint())
    }

    /// When it becomes too old, if nobody keeps it up to date.
    pub(super) fn expires(&self, limit: Option<std::time::Duration>) -> Option<Instant> {
        self.status.stale_since()?.checked_add(limit?)
    }
}
