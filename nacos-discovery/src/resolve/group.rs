use std::sync::Arc;

use crate::Endpoint;
use crate::pick::{NoInstanceReason, PickContext, Tier, Verdict};

/// Instances among which one is chosen for a request: all, or those of one label.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// The most preferred one first; none is empty.
    pub(super) tiers: Arc<[Tier]>,
    /// The filter that left nothing, and how many there were before it.
    pub(super) emptied: Option<(Arc<str>, usize)>,
    /// Of each row that is in it and usable, in the order of the list.
    pub(super) verdicts: Box<[(usize, Verdict)]>,
}

impl Group {
    /// Whether no request finds anybody in it.
    pub(super) fn is_empty(&self) -> bool {
        self.tiers.is_empty()
    }

    /// That a filter left nothing of it.
    pub(super) fn filtered(&self) -> Option<NoInstanceReason> {
        let (filter, count) = self.emptied.as_ref()?;
        Some(NoInstanceReason::Filtered { filter: filter.to_string(), count: *count })
    }

    /// Everyone: the members of the last tier.
    pub(super) fn endpoints(&self) -> impl Iterator<Item = &Arc<Endpoint>> {
        last(&self.tiers)
    }

    #[inline]
    pub(super) fn pick(&self, cx: &mut PickContext<'_>) -> Option<&Arc<Endpoint>> {
        pick(&self.tiers, cx)
    }

    pub(super) fn any_taken(&self, cx: &mut PickContext<'_>) -> Option<&Arc<Endpoint>> {
        any_taken(&self.tiers, cx)
    }
}

/// Of the first tier that has one for the request.
#[inline]
pub(super) fn pick<'a>(tiers: &'a [Tier], cx: &mut PickContext<'_>) -> Option<&'a Arc<Endpoint>> {
    tiers.iter().find_map(|tier| tier.pick(cx))
}

/// The same by chance.
pub(super) fn any_taken<'a>(tiers: &'a [Tier], cx: &mut PickContext<'_>) -> Option<&'a Arc<Endpoint>> {
    tiers.iter().find_map(|tier| tier.any_taken(cx))
}

/// The members of the first tier.
pub(super) fn first(tiers: &[Tier]) -> impl Iterator<Item = &Arc<Endpoint>> {
    tiers.first().into_iter().flat_map(|tier| tier.members()).map(|member| member.endpoint())
}

/// The members of the last tier: each has the ones before it.
pub(super) fn last(tiers: &[Tier]) -> impl Iterator<Item = &Arc<Endpoint>> {
    tiers.last().into_iter().flat_map(|tier| tier.members()).map(|member| member.endpoint())
}
