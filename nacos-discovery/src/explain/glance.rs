use tokio::time::Instant;

use super::assemble::{self, Seen};
use super::see::see;
use super::{ExplainedInstance, ExplainedRoute, Viewpoint};
use crate::ServiceInstance;
use crate::pick::NoInstanceReason;
use crate::resolve::View;

/// Who looks at a list, and for which request.
#[derive(Clone, Copy)]
pub(super) struct Glance<'a> {
    pub(super) view: &'a View,
    pub(super) viewpoint: &'a Viewpoint,
    /// Where the request was sent already.
    pub(super) tried: &'a [ServiceInstance],
    pub(super) now: Instant,
}

/// What is seen.
pub(super) struct Found {
    pub(super) route: Option<ExplainedRoute>,
    pub(super) instances: Vec<ExplainedInstance>,
    /// As the tables have them; of several labels, as those of the first one do.
    pub(super) seen: Vec<Seen>,
    /// The tier of these that is drawn from.
    pub(super) serving: Option<usize>,
    pub(super) no_instance: Option<String>,
}

impl Glance<'_> {
    /// Where all requests go the same way.
    pub(super) fn plain(&self) -> Found {
        let (seen, serving) = see(self.view, self.tried, self.now);
        let no_instance = match (serving, &self.view.refusal) {
            (_, Some(reason)) => Some(reason.to_string()),
            (None, None) if !self.tried.is_empty() => {
                Some(NoInstanceReason::AllTried { count: self.tried.len() }.to_string())
            }
            (None, None) => Some("all that could take requests are ejected for the moment".to_owned()),
            (Some(_), None) => None,
        };
        let instances = assemble::instances(seen.clone(), serving, self.viewpoint);
        Found { route: None, instances, seen, serving, no_instance }
    }
}
