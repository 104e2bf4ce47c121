use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::service::Service;
use super::store::Sink;

/// A service by identity, for sets of services.
#[derive(Debug, Clone)]
pub(crate) struct ServiceRef(pub(crate) Arc<Service>);

impl ServiceRef {
    pub(crate) fn address(service: &Arc<Service>) -> usize {
        Arc::as_ptr(service) as usize
    }
}

impl PartialEq for ServiceRef {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ServiceRef {}

impl Hash for ServiceRef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(Self::address(&self.0));
    }
}

/// Addresses are no input of a peer, so one multiplication spreads them well enough.
#[derive(Debug, Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_usize(usize::from(*byte));
        }
    }

    fn write_usize(&mut self, address: usize) {
        self.0 = (self.0 ^ address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }
}

pub(crate) type AddressBuild = BuildHasherDefault<AddressHasher>;
pub(crate) type ServiceSet = HashSet<ServiceRef, AddressBuild>;

/// Whoever publishes or subscribes: a connection, or an internal client that stands for one address.
pub(crate) struct Client {
    /// Counts up; among clients that publish the same address the highest one is shown.
    pub(crate) number: u64,
    /// Connection id, or `ip:port#true` and `ip:port#false` for ephemeral and persistent internal clients.
    pub(crate) name: Box<str>,
    sink: Option<Arc<dyn Sink>>,
    state: Mutex<ClientState>,
}

#[derive(Debug)]
pub(crate) struct ClientState {
    /// A closed client takes no records any more, however late a request of its connection runs.
    pub(crate) open: bool,
    pub(crate) published: ServiceSet,
    pub(crate) subscribed: ServiceSet,
}

impl Client {
    pub(crate) fn new(number: u64, name: Box<str>, sink: Option<Arc<dyn Sink>>) -> Self {
        let state = ClientState { open: true, published: ServiceSet::default(), subscribed: ServiceSet::default() };
        Self { number, name, sink, state: Mutex::new(state) }
    }

    pub(crate) fn sink(&self) -> Option<&Arc<dyn Sink>> {
        self.sink.as_ref()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, ClientState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The services it publishes into, and those it subscribed to.
    pub(crate) fn services(&self) -> (Vec<Arc<Service>>, Vec<Arc<Service>>) {
        let state = self.lock();
        let all = |set: &ServiceSet| set.iter().map(|reference| Arc::clone(&reference.0)).collect();
        (all(&state.published), all(&state.subscribed))
    }

    /// How many services it publishes into and how many it subscribed to.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        let state = self.lock();
        (state.published.len(), state.subscribed.len())
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("number", &self.number).field("name", &self.name).finish_non_exhaustive()
    }
}
