use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, PoisonError};

use super::client::{Client, ServiceRef};
use super::details::{ClusterMetadata, ServiceMetadata};
use super::instance::Host;
use super::overrides::Override;
use super::service::{KeyRef, Kind, Published, Service, State};
use super::store::Registry;

/// Why an operator's wish was not done. Nothing is changed then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AdminError {
    /// Nothing was ever registered in the service, nor was it created.
    NotFound,
    /// There is such a service.
    Exists,
    /// It has instances.
    NotEmpty,
}

/// What is said about a service, taken at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Described {
    pub(crate) kind: Kind,
    /// `None`: no operator said anything about it.
    pub(crate) metadata: Option<Arc<ServiceMetadata>>,
    pub(crate) clusters: BTreeMap<Box<str>, Arc<ClusterMetadata>>,
}

impl Registry {
    /// Makes an empty service that stays until it is deleted.
    pub(crate) fn create(&self, key: KeyRef<'_>, kind: Kind, metadata: ServiceMetadata) -> Result<(), AdminError> {
        loop {
            let service = self.obtain(key);
            let mut state = service.lock();
            if state.dead {
                continue;
            }
            if state.kind.is_some() {
                return Err(AdminError::Exists);
            }
            state.kind = Some(kind);
            let details = state.details.get_or_insert_default();
            details.created = true;
            details.metadata = Some(Arc::new(metadata));
            self.groups.add(&service);
            return Ok(());
        }
    }

    pub(crate) fn delete(&self, key: KeyRef<'_>) -> Result<(), AdminError> {
        let service = self.find(key).ok_or(AdminError::NotFound)?;
        let mut state = service.lock();
        if state.kind.is_none() {
            return Err(AdminError::NotFound);
        }
        if state.instances > 0 {
            return Err(AdminError::NotEmpty);
        }
        // The next sweep takes it out of the table, or its last subscriber's end does.
        state.kind = None;
        state.details = None;
        self.groups.remove(&service);
        self.lock_overridden().remove(&ServiceRef(Arc::clone(&service)));
        Ok(())
    }

    pub(crate) fn set_metadata(&self, key: KeyRef<'_>, metadata: ServiceMetadata) -> Result<(), AdminError> {
        let (service, threshold) = (self.find(key).ok_or(AdminError::NotFound)?, metadata.threshold());
        let mut state = known(&service)?;
        state.details.get_or_insert_default().metadata = Some(Arc::new(metadata));
        if self.stale() {
            let threshold = threshold.filter(|_| self.rules().protection);
            state.view = state.view.take().map(|view| Arc::new(view.protected_by(threshold)));
        } else {
            self.changed(&service, &mut state);
        }
        Ok(())
    }

    /// Sets what is said about one cluster, whether it has instances or not.
    pub(crate) fn set_cluster(
        &self,
        key: KeyRef<'_>,
        cluster: &str,
        metadata: ClusterMetadata,
    ) -> Result<(), AdminError> {
        let service = self.find(key).ok_or(AdminError::NotFound)?;
        let mut state = known(&service)?;
        state.details.get_or_insert_default().clusters.insert(cluster.into(), Arc::new(metadata));
        Ok(())
    }

    /// Changes what overrides one instance, whether that is registered or not.
    pub(crate) fn set_override(
        &self,
        key: KeyRef<'_>,
        (host, port, cluster): (&Host, u16, &str),
        change: impl FnOnce(&mut Override),
    ) -> Result<(), AdminError> {
        let service = self.find(key).ok_or(AdminError::NotFound)?;
        let cluster = self.names.intern(cluster);
        let mut state = known(&service)?;
        let overrides = &mut state.details.get_or_insert_default().overrides;
        let mut over = overrides.get((host, port, &cluster)).cloned().unwrap_or_default();
        change(&mut over);
        overrides.set(host, port, &cluster, over);
        self.lock_overridden().insert(ServiceRef(Arc::clone(&service)));
        self.changed(&service, &mut state);
        Ok(())
    }

    /// Says how an instance is, in its registrant's place; false if there is no such instance.
    pub(crate) fn set_health(&self, key: KeyRef<'_>, row: (&Host, u16, &str), healthy: bool) -> bool {
        let Some(service) = self.find(key) else { return false };
        let mut state = service.lock();
        let Some(changed) = state.records.set_health(row, healthy) else { return false };
        if changed {
            self.changed(&service, &mut state);
        }
        true
    }

    /// `None` for a service that is only subscribed to.
    pub(crate) fn describe(&self, service: &Service) -> Option<Described> {
        let state = service.lock();
        let kind = state.kind?;
        let (metadata, clusters) = match state.details.as_deref() {
            None => (None, BTreeMap::new()),
            Some(details) => (details.metadata.clone(), details.clusters.clone()),
        };
        Some(Described { kind, metadata, clusters })
    }

    /// All listed services, of one namespace or of all, in order.
    pub(crate) fn services(&self, namespace: Option<&str>, keep: impl Fn(&Service) -> bool) -> Vec<Arc<Service>> {
        let mut found = self.groups.all(namespace);
        // Only now, without the lock: `keep` may look into the service.
        found.retain(|service| keep(service));
        found
    }

    /// The services of a namespace that somebody is subscribed to, whether anything is registered in them or not; in order.
    pub(crate) fn subscribed(&self, namespace: &str, keep: impl Fn(&Service) -> bool) -> Vec<Arc<Service>> {
        let mut found: Vec<Arc<Service>> = Vec::new();
        for shard in &self.shards {
            let shard = shard.read().unwrap_or_else(PoisonError::into_inner);
            let wanted = |service: &&Arc<Service>| &*service.namespace == namespace && keep(service);
            found.extend(shard.iter().filter(wanted).filter(|s| s.lock().subscribers.is_some()).cloned());
        }
        found.sort_unstable_by(|a, b| (&a.group, &a.name).cmp(&(&b.group, &b.name)));
        found
    }

    /// What the client publishes into the service.
    pub(crate) fn published_by(&self, client: &Client, service: &Service) -> Option<Published> {
        let state = service.lock();
        let record = state.records.as_slice().iter().find(|record| record.client == client.number)?;
        Some(record.published.clone())
    }
}

impl Registry {
    /// Takes services out that have been empty for `after` seconds, and texts that nobody uses any more.
    pub(crate) fn sweep(&self, seconds: u32, after: u32) -> usize {
        let mut removed = 0;
        for shard in &self.shards {
            let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
            shard.retain(|service| {
                let mut state = service.lock();
                if !is_forgotten(&state, seconds, after) {
                    return true;
                }
                if state.kind.take().is_some() {
                    self.groups.remove(service);
                    removed += 1;
                }
                if state.details.take().is_some() {
                    self.lock_overridden().remove(&ServiceRef(Arc::clone(service)));
                }
                state.view = None;
                state.dead = state.subscribers.is_none();
                !state.dead
            });
        }
        self.names.sweep();
        removed
    }

    /// Drops what operators said about instances that have been gone for `after` seconds, and says of how many. Cheap when
    /// nothing was said.
    pub(crate) fn expire_overrides(&self, seconds: u32, after: u32) -> usize {
        let mut dropped = 0;
        let overridden: Vec<ServiceRef> = self.lock_overridden().iter().cloned().collect();
        for reference in overridden {
            let mut state = reference.0.lock();
            let State { records, details, revision, .. } = &mut *state;
            let Some(overrides) = details.as_deref_mut().map(|details| &mut details.overrides) else { continue };
            dropped += overrides.expire(*revision, || records.instances(), seconds, after);
            if overrides.is_empty() {
                self.lock_overridden().remove(&reference);
            }
        }
        dropped
    }
}

/// The state of a service that exists, and is not just being forgotten.
fn known(service: &Service) -> Result<MutexGuard<'_, State>, AdminError> {
    let state = service.lock();
    if state.kind.is_some() { Ok(state) } else { Err(AdminError::NotFound) }
}

fn is_forgotten(state: &State, seconds: u32, after: u32) -> bool {
    state.records.is_empty()
        && !state.details.as_deref().is_some_and(|details| details.created)
        && seconds.saturating_sub(state.empty_since) >= after
}
