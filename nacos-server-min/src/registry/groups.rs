use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::page::Page;
use super::service::Service;

/// A listed service, ordered by name within its group.
struct Listed(Arc<Service>);

impl PartialEq for Listed {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Listed {}

impl PartialOrd for Listed {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Listed {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.name.cmp(&other.0.name)
    }
}

impl std::borrow::Borrow<str> for Listed {
    fn borrow(&self) -> &str {
        &self.0.name
    }
}

type Namespaces = HashMap<Arc<str>, HashMap<Arc<str>, BTreeSet<Listed>>>;

/// namespace → group → services that something was registered in, by name.
#[derive(Default)]
pub(super) struct GroupIndex {
    namespaces: Mutex<Namespaces>,
}

impl GroupIndex {
    pub(super) fn add(&self, service: &Arc<Service>) {
        let mut namespaces = self.lock();
        let group = namespaces.entry(Arc::clone(&service.namespace)).or_default().entry(Arc::clone(&service.group));
        group.or_default().insert(Listed(Arc::clone(service)));
    }

    pub(super) fn remove(&self, service: &Service) {
        let mut namespaces = self.lock();
        let Some(groups) = namespaces.get_mut(&service.namespace) else { return };
        if let Some(services) = groups.get_mut(&service.group) {
            services.remove(&*service.name);
            if services.is_empty() {
                groups.remove(&service.group);
            }
        }
        if groups.is_empty() {
            namespaces.remove(&service.namespace);
        }
    }

    /// How many services the group has, and those on one page of them.
    pub(super) fn page(&self, namespace: &str, group: &str, page: Page) -> (usize, Vec<Arc<Service>>) {
        let namespaces = self.lock();
        let Some(services) = namespaces.get(namespace).and_then(|groups| groups.get(group)) else {
            return (0, Vec::new());
        };
        let (skip, take) = page.bounds();
        (services.len(), services.iter().skip(skip).take(take).map(|listed| Arc::clone(&listed.0)).collect())
    }

    /// Services of one namespace, or of all, by namespace, group and name.
    pub(super) fn all(&self, namespace: Option<&str>) -> Vec<Arc<Service>> {
        let namespaces = self.lock();
        let wanted = namespaces.iter().filter(|(name, _)| namespace.is_none_or(|wanted| wanted == &***name));
        let services = wanted.flat_map(|(_, groups)| groups.values()).flatten();
        let mut found: Vec<Arc<Service>> = services.map(|listed| Arc::clone(&listed.0)).collect();
        drop(namespaces);
        found.sort_by(|a, b| (&a.namespace, &a.group).cmp(&(&b.namespace, &b.group)));
        found
    }

    pub(super) fn len(&self) -> usize {
        self.lock().values().flat_map(HashMap::values).map(BTreeSet::len).sum()
    }

    fn lock(&self) -> MutexGuard<'_, Namespaces> {
        self.namespaces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
