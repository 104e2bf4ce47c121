use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use hashbrown::HashTable;

use super::client::{Client, ServiceRef, ServiceSet};
use super::groups::GroupIndex;
use super::names::Names;
use super::page::Page;
use super::service::{KeyRef, Kind, Published, Record, Service, State, Subscriber};
use super::view::{Rows, Rules, View};
use crate::oddity::Oddities;

/// Told about a client's subscriptions and their services' changes, under the service's lock: it may only take note.
pub(crate) trait Sink: Send + Sync {
    /// The client subscribed, or changed its filter (`first` false).
    fn subscribed(&self, service: &Arc<Service>, clusters: Option<&Arc<str>>, first: bool);
    /// The client unsubscribed.
    fn unsubscribed(&self, service: &Arc<Service>);
    /// The service's list is another one now.
    fn changed(&self, service: &Arc<Service>);
}

/// Decides when subscribers hear of a write. Called under the service's lock.
pub(crate) trait Propagation: Send + Sync {
    /// The service changed; `subscribers` are its present ones.
    fn changed(&self, service: &Arc<Service>, subscribers: &[Subscriber]);
    /// `subscriber` subscribed for the first time.
    fn subscribed(&self, service: &Arc<Service>, subscriber: &Subscriber);
}

/// How the registry behaves; see [`crate::Settings`] for the defaults.
pub(crate) struct RegistrySettings {
    pub(crate) max_services_per_client: usize,
    pub(crate) max_instances_per_service: usize,
    /// Whether thresholds protect lists.
    pub(crate) protection: bool,
    /// Present when reads come from views that only the push engine renews.
    pub(crate) stale: Option<Arc<Oddities>>,
    pub(crate) propagation: Arc<dyn Propagation>,
}

#[cfg(test)]
impl RegistrySettings {
    /// Without limits, with protection, and every change told at once.
    pub(crate) fn unlimited() -> Self {
        Self {
            max_services_per_client: usize::MAX,
            max_instances_per_service: usize::MAX,
            protection: true,
            stale: None,
            propagation: Arc::new(crate::push::Direct),
        }
    }
}

/// Why a write was not taken. Nothing is changed then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WriteError {
    /// The client is closed.
    ClientClosed,
    /// The service is of the other kind.
    OtherKind(Kind),
    /// The service would have too many instances, or the client too many services.
    TooMany(&'static str),
}

/// Sizes, for metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StoreStats {
    pub(crate) services: usize,
    pub(crate) instances: usize,
    pub(crate) subscriptions: usize,
    pub(crate) ephemeral_clients: usize,
    pub(crate) persistent_clients: usize,
}

const SHARDS: usize = 64;

/// All services of this server.
pub(crate) struct Registry {
    pub(crate) names: Names,
    settings: RegistrySettings,
    hasher: RandomState,
    pub(super) shards: Box<[RwLock<HashTable<Arc<Service>>>]>,
    pub(super) groups: GroupIndex,
    /// Services with overrides. Locked last.
    overridden: Mutex<ServiceSet>,
    /// Clients that stand for one `ip:port`, by their name.
    pub(super) internal: Mutex<HashMap<Box<str>, Arc<Client>>>,
    /// Counts the comings and goings of persistent instances.
    pub(super) persistent_changes: AtomicU64,
    next_client: AtomicU64,
    instances: AtomicI64,
    subscriptions: AtomicI64,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

impl Registry {
    pub(crate) fn new(settings: RegistrySettings) -> Self {
        Self {
            names: Names::default(),
            settings,
            hasher: RandomState::new(),
            shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            groups: GroupIndex::default(),
            overridden: Mutex::default(),
            internal: Mutex::default(),
            persistent_changes: AtomicU64::new(0),
            next_client: AtomicU64::new(1),
            instances: AtomicI64::new(0),
            subscriptions: AtomicI64::new(0),
        }
    }

    pub(super) fn rules(&self) -> Rules {
        let rows = if self.stale() { Rows::Distinct } else { Rows::NewestClient };
        Rules { rows, protection: self.settings.protection }
    }

    /// Whether reads come from views that only the push engine renews.
    pub(super) fn stale(&self) -> bool {
        self.settings.stale.is_some()
    }

    // === clients ===

    pub(crate) fn open_client(&self, name: &str, sink: Option<Arc<dyn Sink>>) -> Arc<Client> {
        Arc::new(Client::new(self.next_client.fetch_add(1, Ordering::Relaxed), name.into(), sink))
    }

    /// Takes everything back that the client published or subscribed to. Later writes of it are refused.
    pub(crate) fn close_client(&self, client: &Arc<Client>, seconds: u32) {
        let (published, subscribed) = {
            let mut state = client.lock();
            state.open = false;
            (std::mem::take(&mut state.published), std::mem::take(&mut state.subscribed))
        };
        for ServiceRef(service) in subscribed {
            let mut state = service.lock();
            self.drop_subscriber(&service, &mut state, client);
        }
        for ServiceRef(service) in published {
            let mut state = service.lock();
            self.drop_record(&service, &mut state, client.number, seconds);
        }
    }

    // === writes ===

    /// Sets what `client` publishes into the service.
    pub(crate) fn publish(
        &self,
        client: &Arc<Client>,
        key: KeyRef<'_>,
        kind: Kind,
        published: Published,
    ) -> Result<(), WriteError> {
        loop {
            let service = self.obtain(key);
            let mut mine = client.lock();
            if !mine.open {
                return Err(WriteError::ClientClosed);
            }
            let mut state = service.lock();
            if state.dead {
                continue;
            }
            if let Some(other) = state.kind.filter(|known| *known != kind) {
                return Err(WriteError::OtherKind(other));
            }
            let reference = ServiceRef(Arc::clone(&service));
            if mine.published.len() >= self.settings.max_services_per_client && !mine.published.contains(&reference) {
                return Err(WriteError::TooMany("services per client"));
            }
            self.put_record(&service, &mut state, kind, Record { client: client.number, published })?;
            mine.published.insert(reference);
            return Ok(());
        }
    }

    fn put_record(
        &self,
        service: &Arc<Service>,
        state: &mut State,
        kind: Kind,
        record: Record,
    ) -> Result<(), WriteError> {
        let added = record.published.as_slice().len();
        if state.instances + added > self.settings.max_instances_per_service {
            return Err(WriteError::TooMany("instances per service"));
        }
        if state.kind.is_none() {
            state.kind = Some(kind);
            self.groups.add(service);
        }
        let removed = state.records.put(record).map_or(0, |old| old.as_slice().len());
        state.instances = state.instances + added - removed;
        self.count_instances(added, removed);
        self.changed(service, state);
        Ok(())
    }

    /// Removes what `client` publishes into the service; false if there was nothing.
    pub(crate) fn withdraw(&self, client: &Arc<Client>, key: KeyRef<'_>, seconds: u32) -> bool {
        let Some(service) = self.find(key) else { return false };
        let mut mine = client.lock();
        if !mine.published.remove(&ServiceRef(Arc::clone(&service))) {
            return false;
        }
        let mut state = service.lock();
        self.drop_record(&service, &mut state, client.number, seconds);
        true
    }

    fn drop_record(&self, service: &Arc<Service>, state: &mut State, client: u64, seconds: u32) {
        let Some(removed) = state.records.remove(client) else { return };
        state.instances -= removed.as_slice().len();
        self.count_instances(0, removed.as_slice().len());
        if state.records.is_empty() {
            state.empty_since = seconds;
        }
        self.changed(service, state);
    }

    pub(super) fn changed(&self, service: &Arc<Service>, state: &mut State) {
        state.touch(self.settings.stale.is_some());
        self.settings.propagation.changed(service, state.subscribers());
    }

    // === subscriptions ===

    /// The second value is true for the client's first subscription of the service.
    pub(crate) fn subscribe(
        &self,
        client: &Arc<Client>,
        key: KeyRef<'_>,
        clusters: Option<&str>,
    ) -> Result<(Arc<Service>, bool), WriteError> {
        let clusters = clusters.map(|text| self.names.intern(text));
        loop {
            let service = self.obtain(key);
            let mut mine = client.lock();
            if !mine.open {
                return Err(WriteError::ClientClosed);
            }
            let mut state = service.lock();
            if state.dead {
                continue;
            }
            let reference = ServiceRef(Arc::clone(&service));
            if mine.subscribed.len() >= self.settings.max_services_per_client && !mine.subscribed.contains(&reference) {
                return Err(WriteError::TooMany("subscriptions per client"));
            }
            let subscriber = Subscriber { client: Arc::clone(client), clusters };
            let first = state.subscribe(subscriber.clone());
            if let Some(sink) = client.sink() {
                sink.subscribed(&service, subscriber.clusters.as_ref(), first);
            }
            if first {
                mine.subscribed.insert(reference);
                self.subscriptions.fetch_add(1, Ordering::Relaxed);
                self.settings.propagation.subscribed(&service, &subscriber);
            }
            drop(state);
            return Ok((service, first));
        }
    }

    /// True if there was a subscription.
    pub(crate) fn unsubscribe(&self, client: &Arc<Client>, key: KeyRef<'_>) -> bool {
        let Some(service) = self.find(key) else { return false };
        let mut mine = client.lock();
        if !mine.subscribed.remove(&ServiceRef(Arc::clone(&service))) {
            return false;
        }
        let mut state = service.lock();
        self.drop_subscriber(&service, &mut state, client);
        true
    }

    fn drop_subscriber(&self, service: &Arc<Service>, state: &mut State, client: &Arc<Client>) {
        if state.unsubscribe(client.number).is_some() {
            self.subscriptions.fetch_sub(1, Ordering::Relaxed);
        }
        if let Some(sink) = client.sink() {
            sink.unsubscribed(service);
        }
    }

    // === reads ===

    pub(crate) fn find(&self, key: KeyRef<'_>) -> Option<Arc<Service>> {
        let hash = self.hasher.hash_one(key);
        let shard = self.shard(hash).read().unwrap_or_else(PoisonError::into_inner);
        shard.find(hash, |service| service.key() == key).cloned()
    }

    /// The list a reader gets: with every acknowledged write in it, unless views are meant to be stale.
    pub(crate) fn view(&self, service: &Arc<Service>, now: i64) -> Arc<View> {
        let mut state = service.lock();
        let Some(oddities) = &self.settings.stale else { return state.current_view(self.rules(), now) };
        if let Some(view) = &state.view {
            return Arc::clone(view);
        }
        let missed = state.revision == 1 && oddities.first_query_misses();
        let view = if missed { View::empty(now) } else { state.build_view(self.rules(), now) };
        let view = Arc::new(view);
        state.view = Some(Arc::clone(&view));
        view
    }

    /// Renews a stale view.
    pub(crate) fn renew(&self, service: &Arc<Service>, now: i64) {
        let mut state = service.lock();
        let view = state.build_view(self.rules(), now);
        state.view = Some(Arc::new(view));
    }

    /// How many services the group has, and those on one page of them.
    pub(crate) fn list_page(&self, namespace: &str, group: &str, page: Page) -> (usize, Vec<Arc<Service>>) {
        self.groups.page(namespace, group, page)
    }

    pub(crate) fn stats(&self) -> StoreStats {
        let internal = self.lock_internal();
        let persistent = internal.keys().filter(|name| name.ends_with("#false")).count();
        StoreStats {
            services: self.groups.len(),
            instances: usize::try_from(self.instances.load(Ordering::Relaxed)).unwrap_or(0),
            subscriptions: usize::try_from(self.subscriptions.load(Ordering::Relaxed)).unwrap_or(0),
            ephemeral_clients: internal.len() - persistent,
            persistent_clients: persistent,
        }
    }

    // === inner helpers ===

    pub(super) fn obtain(&self, key: KeyRef<'_>) -> Arc<Service> {
        if let Some(known) = self.find(key) {
            return known;
        }
        let hash = self.hasher.hash_one(key);
        let new = Service::new(self.names.intern(key.namespace), self.names.intern(key.group), key.name);
        let mut shard = self.shard(hash).write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = shard.find(hash, |service| service.key() == key) {
            return Arc::clone(known);
        }
        let service = Arc::new(new);
        shard.insert_unique(hash, Arc::clone(&service), |service| self.hasher.hash_one(service.key()));
        service
    }

    fn shard(&self, hash: u64) -> &RwLock<HashTable<Arc<Service>>> {
        // The table itself uses the lowest and the highest bits.
        let at = (hash >> 32) as usize % self.shards.len();
        &self.shards[at]
    }

    fn count_instances(&self, added: usize, removed: usize) {
        let delta = i64::try_from(added).unwrap_or(0) - i64::try_from(removed).unwrap_or(0);
        if delta != 0 {
            self.instances.fetch_add(delta, Ordering::Relaxed);
        }
    }

    pub(super) fn lock_overridden(&self) -> MutexGuard<'_, ServiceSet> {
        self.overridden.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
