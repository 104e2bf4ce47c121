use std::collections::HashMap;
use std::sync::Arc;

use nacos_client::ServiceKey;
use tokio::time::Instant;

use crate::route::{RouteDocument, RouteError, Router};
use crate::settings::BalanceSettings;

/// The rules that are in force for the services of a directory, whether it knows these or not.
#[derive(Debug)]
pub(super) struct RouteBook {
    document: Arc<RouteDocument>,
    routers: HashMap<ServiceKey, Arc<Router>>,
    since: Instant,
}

impl RouteBook {
    /// `group` is that of services named without one.
    ///
    /// # Errors
    /// If a rule cannot be used.
    pub(super) fn new(document: RouteDocument, group: &str) -> Result<Self, RouteError> {
        let mut routers = HashMap::new();
        let (qualified, plain): (Vec<_>, Vec<_>) =
            document.routers()?.into_iter().partition(|(name, _)| name.contains(SEPARATOR));
        // The more exact name counts, where a document has both.
        for (name, router) in plain.into_iter().chain(qualified) {
            if routers.insert(key(name, group), Arc::new(router)).is_some() {
                tracing::warn!(
                    service = name,
                    "routed by two entries of one document, of which the one with its group counts"
                );
            }
        }
        Ok(Self { document: Arc::new(document), routers, since: Instant::now() })
    }

    /// Those of the settings.
    pub(super) fn of_settings(settings: &BalanceSettings) -> Self {
        let book = settings.routes().map(|document| Self::new(document.clone(), settings.group())).transpose();
        // Settings take no other rules than these that can be used.
        book.ok().flatten().unwrap_or_else(Self::empty)
    }

    fn empty() -> Self {
        Self { document: Arc::default(), routers: HashMap::new(), since: Instant::now() }
    }

    /// Keeps what is the same as before, so that only services whose rules are others get new tables.
    pub(super) fn after(mut self, before: &Self, group: &str) -> Self {
        for (name, rules) in &self.document.services {
            if before.document.services.get(name) == Some(rules) {
                let key = key(name, group);
                if let (Some(router), Some(known)) = (self.routers.get_mut(&key), before.routers.get(&key)) {
                    *router = Arc::clone(known);
                }
            }
        }
        self
    }

    pub(super) fn router(&self, service: &ServiceKey) -> Option<&Arc<Router>> {
        self.routers.get(service)
    }

    pub(super) const fn document(&self) -> &Arc<RouteDocument> {
        &self.document
    }

    /// Since when they are in force.
    pub(super) const fn since(&self) -> Instant {
        self.since
    }
}

const SEPARATOR: &str = "@@";

fn key(name: &str, group: &str) -> ServiceKey {
    name.split_once(SEPARATOR)
        .map_or_else(|| ServiceKey::new(group, name), |(group, name)| ServiceKey::new(group, name))
}
