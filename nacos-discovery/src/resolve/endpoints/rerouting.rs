use std::sync::{Arc, MutexGuard};

use tokio::time::Instant;

use super::super::builder::Builder;
use super::super::content::Content;
use super::super::snapshot::Snapshot;
use super::{Endpoints, lock};
use crate::route::{RouteError, RouteRules, Router};

/// Other rules for a service, with tables that are ready. Until it is committed nothing has changed, and no list comes
/// between.
#[must_use = "the rules are not in force until they are committed"]
pub(in crate::resolve) struct Rerouting<'a> {
    endpoints: &'a Endpoints,
    builder: MutexGuard<'a, Builder>,
    router: Option<Arc<Router>>,
    /// `None` before the first list.
    made: Option<(Arc<Snapshot>, Content)>,
    now: Instant,
}

impl Endpoints {
    /// Routes requests by these rules, or not any longer, in the place of those before. They are in force when this returns: a
    /// pick that begins later is routed by them. For endpoints without a directory; a [`crate::Directory`] has
    /// [`crate::Directory::set_routes`]. Not to be called from filters or policies.
    ///
    /// # Errors
    /// If the rules cannot be used: then those before stay.
    pub fn set_rules(&self, rules: Option<&RouteRules>) -> Result<(), RouteError> {
        let router = rules.map(Router::new).transpose()?.map(Arc::new);
        if let Some(rerouting) = self.reroute(router) {
            rerouting.commit();
        }
        Ok(())
    }

    /// Makes tables for other rules; `None` if they are the same. If code of the application panics in it, nothing has
    /// happened.
    pub(in crate::resolve) fn reroute(&self, router: Option<Arc<Router>>) -> Option<Rerouting<'_>> {
        let now = Instant::now();
        let builder = lock(&self.builder);
        if builder.is_routed_by(router.as_ref()) {
            return None;
        }
        let current = self.current.load_full();
        let made = current.map(|current| (current, builder.rerouted(router.as_ref(), fastrand::u64(..), now)));
        Some(Rerouting { endpoints: self, builder, router, made, now })
    }
}

impl Rerouting<'_> {
    /// Puts the rules in force.
    pub(in crate::resolve) fn commit(mut self) {
        self.builder.set_router(self.router);
        if let Some((current, content)) = self.made {
            self.endpoints.replace(current.with(Arc::new(content)), self.now);
        }
    }
}
