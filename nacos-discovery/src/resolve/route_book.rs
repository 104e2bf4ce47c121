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
    entries: HashMap<ServiceKey, Entry>,
    since: Instant,
}

#[derive(Debug)]
struct Entry {
    /// As the document has it.
    name: String,
    router: Arc<Router>,
}

impl RouteBook {
    /// `group` is that of services named without one.
    ///
    /// # Errors
    /// If a rule cannot be used.
    pub(super) fn new(document: RouteDocument, group: &str) -> Result<Self, RouteError> {
        let mut entries = HashMap::new();
        let (qualified, plain): (Vec<_>, Vec<_>) =
            document.routers()?.into_iter().partition(|(name, _)| name.contains(SEPARATOR));
        // The more exact name counts, where a document has both.
        for (name, router) in plain.into_iter().chain(qualified) {
            let entry = Entry { name: name.to_owned(), router: Arc::new(router) };
            if entries.insert(key(name, group), entry).is_some() {
                tracing::warn!(service = name, "a document has it with and without its group; the one with it counts");
            }
        }
        Ok(Self { document: Arc::new(document), entries, since: Instant::now() })
    }

    /// Those of the settings.
    pub(super) fn of_settings(settings: &BalanceSettings) -> Self {
        let book = settings.routes().map(|document| Self::new(document.clone(), settings.group())).transpose();
        // Settings take no other rules than these that can be used.
        book.ok().flatten().unwrap_or_else(Self::empty)
    }

    fn empty() -> Self {
        Self { document: Arc::default(), entries: HashMap::new(), since: Instant::now() }
    }

    /// Keeps what is the same as before, so that only services whose rules are others get new tables.
    pub(super) fn after(mut self, before: &Self) -> Self {
        for (service, entry) in &mut self.entries {
            let Some(known) = before.entries.get(service) else { continue };
            if self.document.services.get(&entry.name) == before.document.services.get(&known.name) {
                entry.router = Arc::clone(&known.router);
            }
        }
        self
    }

    pub(super) fn router(&self, service: &ServiceKey) -> Option<&Arc<Router>> {
        self.entries.get(service).map(|entry| &entry.router)
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
