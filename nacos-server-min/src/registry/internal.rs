use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

use super::client::Client;
use super::details::{ClusterMetadata, ServiceMetadata};
use super::instance::{Host, Instance};
use super::service::{KeyRef, Kind, Published, Service};
use super::store::{Registry, WriteError};

/// What a client that stands for one address publishes into a service, and what operators say about that.
#[derive(Debug)]
pub(crate) struct Shown {
    /// With the operators' words laid over.
    pub(crate) instance: Arc<Instance>,
    /// `None`: no operator said anything about the service.
    pub(crate) service: Option<Arc<ServiceMetadata>>,
}

/// Clients without a connection, each of which stands for one `ip:port`.
impl Registry {
    /// Publishes an instance for the client of its address, which is returned.
    pub(crate) fn publish_internal(
        &self,
        key: KeyRef<'_>,
        kind: Kind,
        instance: Instance,
    ) -> Result<Arc<Client>, WriteError> {
        let name = internal_name(&instance.host, instance.port, kind);
        let mut internal = self.lock_internal();
        let known = internal.get(name.as_str()).cloned();
        let client = known.unwrap_or_else(|| self.open_client(&name, None));
        self.publish(&client, key, kind, Published::One(Arc::new(instance)))?;
        self.note_persistent(kind);
        Ok(Arc::clone(internal.entry(name.into_boxed_str()).or_insert(client)))
    }

    /// Removes the instance that the client of this address published into the service.
    pub(crate) fn withdraw_internal(
        &self,
        key: KeyRef<'_>,
        kind: Kind,
        ip: Option<&str>,
        port: u16,
        seconds: u32,
    ) -> bool {
        let name = internal_name(&Host::new(ip), port, kind);
        let mut internal = self.lock_internal();
        let Some(client) = internal.get(name.as_str()) else { return false };
        let removed = self.withdraw(client, key, seconds);
        if client.sizes() == (0, 0) {
            internal.remove(name.as_str());
        }
        self.note_persistent(kind);
        removed
    }

    fn note_persistent(&self, kind: Kind) {
        if kind == Kind::Persistent {
            self.persistent_changes.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Another number whenever persistent instances came or went.
    pub(crate) fn persistent_changes(&self) -> u64 {
        self.persistent_changes.load(Ordering::SeqCst)
    }

    /// All persistent instances, by client and service.
    pub(crate) fn persistent(&self) -> Vec<(Arc<Client>, Arc<Service>)> {
        let clients: Vec<Arc<Client>> = {
            let internal = self.lock_internal();
            internal.values().filter(|client| client.name.ends_with("#false")).cloned().collect()
        };
        let of =
            |client: Arc<Client>| client.services().0.into_iter().map(move |service| (Arc::clone(&client), service));
        clients.into_iter().flat_map(of).collect()
    }

    /// The client's instance, as it was registered, and what is said about its cluster.
    pub(crate) fn described_instance(
        &self,
        client: &Client,
        service: &Service,
    ) -> Option<(Arc<Instance>, Arc<ClusterMetadata>)> {
        let state = service.lock();
        let instance = Arc::clone(state.records.get(client.number)?.as_slice().first()?);
        let said = state.details.as_deref().and_then(|details| details.clusters.get(&*instance.cluster));
        let cluster = said.cloned().unwrap_or_default();
        Some((instance, cluster))
    }

    /// Says how the client's instance is, unless it is another one than `observed` by now; true if that changed it.
    pub(crate) fn judge(
        &self,
        client: &Client,
        service: &Arc<Service>,
        observed: &Arc<Instance>,
        healthy: bool,
    ) -> bool {
        let mut state = service.lock();
        let present = state.records.get(client.number).and_then(|published| published.as_slice().first());
        let same = present.is_some_and(|present| Arc::ptr_eq(present, observed));
        let changed = same && state.records.set_health_of(client.number, healthy);
        if changed {
            self.changed(service, &mut state);
        }
        changed
    }

    /// `None`: the client publishes nothing into the service.
    pub(crate) fn shown_of(&self, client: &Client, service: &Service) -> Option<Shown> {
        let state = service.lock();
        let instance = Arc::clone(state.records.get(client.number)?.as_slice().first()?);
        Some(match state.details.as_deref() {
            None => Shown { instance, service: None },
            Some(details) => Shown { instance: details.overrides.applied(instance), service: details.metadata.clone() },
        })
    }

    /// Says how the client's instance is.
    pub(crate) fn set_health_of(&self, client: &Client, service: &Arc<Service>, healthy: bool) {
        let mut state = service.lock();
        if state.records.set_health_of(client.number, healthy) {
            self.changed(service, &mut state);
        }
    }

    pub(crate) fn internal_clients(&self) -> Vec<Arc<Client>> {
        self.lock_internal().values().cloned().collect()
    }

    pub(super) fn lock_internal(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<Client>>> {
        self.internal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn internal_name(host: &Host, port: u16, kind: Kind) -> String {
    format!("{host}:{port}#{}", kind == Kind::Ephemeral)
}
