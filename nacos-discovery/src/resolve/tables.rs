use std::sync::Arc;

use super::group::{first, last};
use super::routed::Routed;
use crate::Endpoint;
use crate::pick::Tier;

/// What requests are drawn from.
#[derive(Debug, Clone)]
pub(super) enum Tables {
    /// The same for every request. The most preferred tier comes first; none is empty.
    Plain(Arc<[Tier]>),
    /// By what the request says.
    Routed(Arc<Routed>),
}

impl Tables {
    /// With nobody.
    pub(super) fn none() -> Self {
        Self::Plain(Arc::new([]))
    }

    /// Whether there is nobody, whatever the request says.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Plain(tiers) => tiers.is_empty(),
            Self::Routed(routed) => routed.takers() == 0,
        }
    }

    /// Everyone that a request can go to, in the order of the list.
    pub(super) fn endpoints(&self) -> impl Iterator<Item = &Arc<Endpoint>> {
        let (tiers, members): (&[Tier], &[_]) = match self {
            Self::Plain(tiers) => (tiers, &[]),
            Self::Routed(routed) => (&[], routed.members()),
        };
        last(tiers).chain(members)
    }

    /// Those that a request prefers which says nothing.
    pub(super) fn preferred(&self) -> impl Iterator<Item = &Arc<Endpoint>> {
        first(self.usual())
    }

    /// Those of a request that says nothing: all, or the baseline.
    pub(super) fn usual(&self) -> &[Tier] {
        match self {
            Self::Plain(tiers) => tiers,
            Self::Routed(routed) => &routed.baseline().tiers,
        }
    }
}
