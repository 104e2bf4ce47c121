use std::sync::Arc;

use tokio::time::Instant;

use super::content::Content;
use super::group;
use super::list_status::ListStatus;
use super::tables::Tables;
use crate::eject::Ejector;
use crate::pick::{Avoid, NoInstanceReason, PickContext};
use crate::{Endpoint, Picked};

/// What picks of a service read: immutable, replaced as a whole.
#[derive(Debug)]
pub(super) struct Snapshot {
    /// Those of the content, or none while it must not be used.
    pub(super) tables: Tables,
    /// Why there is nobody, if there is nobody.
    pub(super) empty: NoInstanceReason,
    pub(super) content: Arc<Content>,
    pub(super) status: ListStatus,
}

impl Snapshot {
    pub(super) fn new(content: Arc<Content>, status: ListStatus) -> Self {
        Self { tables: content.tables.clone(), empty: content.empty.clone(), content, status }
    }

    /// The same list, which must not be used for this reason.
    pub(super) fn refused(content: Arc<Content>, status: ListStatus, why: NoInstanceReason) -> Self {
        Self { tables: Tables::none(), empty: why, content, status }
    }

    /// The same with another content of the same list.
    pub(super) fn with(&self, content: Arc<Content>) -> Self {
        match &self.empty {
            NoInstanceReason::Closed => Self::refused(content, self.status, NoInstanceReason::Closed),
            _ => Self::new(content, self.status),
        }
    }

    /// A call of an endpoint that takes the request.
    #[inline]
    pub(super) fn pick(&self, cx: &mut PickContext<'_>, ejector: &Ejector) -> Option<Picked> {
        match &self.tables {
            Tables::Plain(tiers) => begin(cx, ejector, |cx| group::pick(tiers, cx)),
            Tables::Routed(routed) => {
                let way = routed.way(cx);
                begin(cx, ejector, |cx| way.pick(cx))
            }
        }
    }

    /// The same while no instance is ejected or restored. [`Snapshot::pick`] looks at instances one after the other, so it
    /// may find none though there is one at every moment, if they take turns in being ejected.
    #[cold]
    pub(super) fn pick_settled(&self, cx: &mut PickContext<'_>, ejector: &Ejector) -> Option<Picked> {
        cx.avoiding(Avoid::Unusable { probing: 0 });
        // What is open stays so until this returns, so that beginning does not ask the ejector.
        match &self.tables {
            Tables::Plain(tiers) => ejector.settled(|| Picked::begin(group::any_taken(tiers, cx)?)),
            Tables::Routed(routed) => {
                let way = routed.way(cx);
                ejector.settled(|| Picked::begin(way.any_taken(cx)?))
            }
        }
    }

    /// Why nobody takes the request, as of now.
    #[cold]
    pub(super) fn why_none(&self, cx: &mut PickContext<'_>) -> NoInstanceReason {
        let dead_end = match &self.tables {
            tables if tables.is_empty() => Some(self.refusal()),
            Tables::Plain(_) => None,
            Tables::Routed(routed) => routed.way(cx).dead_end(),
        };
        dead_end.unwrap_or_else(|| match cx.tried().len() {
            0 => NoInstanceReason::AllEjected,
            count => NoInstanceReason::AllTried { count },
        })
    }

    /// Why there is nobody, as of now.
    pub(super) fn refusal(&self) -> NoInstanceReason {
        match (&self.empty, self.status.stale_since()) {
            (NoInstanceReason::Stale { .. }, Some(since)) => NoInstanceReason::Stale { age: since.elapsed() },
            (empty, _) => empty.clone(),
        }
    }

    /// Everyone that a request can go to.
    pub(super) fn endpoints(&self) -> impl Iterator<Item = &Arc<Endpoint>> {
        self.tables.endpoints()
    }

    /// Those that a request prefers which says nothing.
    pub(super) fn preferred(&self) -> impl Iterator<Item = &Arc<Endpoint>> {
        self.tables.preferred()
    }

    /// Everyone that this request can go to, whatever is preferred.
    pub(super) fn endpoints_for<'a, 'r: 'a>(
        &'a self,
        cx: &mut PickContext<'r>,
    ) -> Box<dyn Iterator<Item = &'a Arc<Endpoint>> + 'a> {
        match &self.tables {
            Tables::Plain(_) => Box::new(self.tables.endpoints()),
            Tables::Routed(routed) => Box::new(routed.way(cx).into_endpoints()),
        }
    }

    /// When it becomes too old, if nobody keeps it up to date.
    pub(super) fn expires(&self, limit: Option<std::time::Duration>) -> Option<Instant> {
        self.status.stale_since()?.checked_add(limit?)
    }
}

/// Begins a call of what `choose` finds.
#[inline]
fn begin<'a>(
    cx: &mut PickContext<'_>,
    ejector: &Ejector,
    choose: impl Fn(&mut PickContext<'_>) -> Option<&'a Arc<Endpoint>>,
) -> Option<Picked> {
    let mut avoid = ejector.avoid(cx.tried().len());
    loop {
        cx.avoiding(avoid);
        if let Some(picked) = Picked::begin(choose(cx)?) {
            return Some(picked);
        }
        // It was ejected in this moment, or another request is the one that probes it. What is open now is enough: every
        // further round needs one more ejection in the same moment.
        avoid = Avoid::Unusable { probing: 0 };
    }
}
