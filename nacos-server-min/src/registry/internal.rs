use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};

use super::client::Client;
use super::details::ServiceMetadata;
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
        removed
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
