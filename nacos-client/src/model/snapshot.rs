//! The list of a service as it was at one moment.

use std::cmp::Ordering;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use super::{Instance, Select, ServiceKey};
use crate::error::PickError;
use crate::naming::select::{PickRng, PickTables, thread_random};

/// Where the list of a snapshot came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnapshotSource {
    /// A server's push or answer.
    Server,
}

/// Removals that are not believed yet: instances the latest list lacks, kept pickable until it is confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Held {
    /// When the first of them went missing.
    pub since: Instant,
    /// When a query decides; `None` = kept until an instance is listed again.
    pub until: Option<Instant>,
    /// How many instances are held.
    pub count: usize,
}

impl Held {
    pub(crate) const fn new(since: Instant, until: Option<Instant>, count: usize) -> Self {
        Self { since, until, count }
    }
}

/// An immutable list of the instances of one service, shared by all who read it.
///
/// Instances are sorted by ip, port and cluster, and unique by these.
pub struct ServiceSnapshot {
    key: ServiceKey,
    revision: u64,
    /// How often a new connection confirmed the list after one was lost.
    resyncs: u64,
    source: SnapshotSource,
    received_at: Instant,
    held: Option<Held>,
    stale_since: Option<Instant>,
    list: Arc<HostList>,
}

/// The instances and what is derived from them, shared by snapshots that differ in their flags only.
#[derive(Debug)]
pub(crate) struct HostList {
    hosts: Arc<[Arc<Instance>]>,
    /// The server shows unhealthy instances as healthy.
    protected: bool,
    tables: OnceLock<PickTables>,
}

impl HostList {
    /// Sorts by identity; of several rows with one identity the most usable one stays, whatever their order was.
    pub(crate) fn new(mut hosts: Vec<Arc<Instance>>, protected: bool) -> Self {
        hosts.sort_unstable_by(|a, b| a.cmp_key(b).then_with(|| more_usable_first(a, b)));
        hosts.dedup_by(|later, kept| later.cmp_key(kept) == Ordering::Equal);
        Self { hosts: hosts.into(), protected, tables: OnceLock::new() }
    }

    pub(crate) fn hosts(&self) -> &Arc<[Arc<Instance>]> {
        &self.hosts
    }

    pub(crate) const fn protected(&self) -> bool {
        self.protected
    }

    pub(crate) fn tables(&self) -> &PickTables {
        self.tables.get_or_init(|| PickTables::new(&self.hosts))
    }

    pub(crate) fn same_content(&self, other: &Self) -> bool {
        self.protected == other.protected && self.hosts == other.hosts
    }
}

fn more_usable_first(a: &Instance, b: &Instance) -> Ordering {
    let rank = |i: &Instance| (i.healthy, i.enabled, i.ephemeral);
    rank(b).cmp(&rank(a)).then_with(|| b.weight.total_cmp(&a.weight)).then_with(|| a.metadata.cmp(&b.metadata))
}

/// What a snapshot says beside its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SnapshotFlags {
    pub(crate) held: Option<Held>,
    pub(crate) stale_since: Option<Instant>,
}

impl ServiceSnapshot {
    pub(crate) fn new(
        key: ServiceKey,
        revision: u64,
        resyncs: u64,
        received_at: Instant,
        flags: SnapshotFlags,
        list: Arc<HostList>,
    ) -> Self {
        let SnapshotFlags { held, stale_since } = flags;
        Self { key, revision, resyncs, source: SnapshotSource::Server, received_at, held, stale_since, list }
    }

    pub(crate) const fn resyncs(&self) -> u64 {
        self.resyncs
    }

    pub(crate) fn list(&self) -> &Arc<HostList> {
        &self.list
    }

    /// The service.
    #[must_use]
    pub fn key(&self) -> &ServiceKey {
        &self.key
    }

    /// Local, strictly increasing number of this snapshot: the only thing to order snapshots of one service by.
    #[must_use]
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// Where the list came from.
    #[must_use]
    pub const fn source(&self) -> SnapshotSource {
        self.source
    }

    /// When the list was last received, on the monotonic clock.
    #[must_use]
    pub const fn received_at(&self) -> Instant {
        self.received_at
    }

    /// Set while removals are not believed yet.
    #[must_use]
    pub const fn held(&self) -> Option<Held> {
        self.held
    }

    /// Set while the list is not kept up to date: since the connection was lost, until the next one confirmed it.
    #[must_use]
    pub const fn stale_since(&self) -> Option<Instant> {
        self.stale_since
    }

    /// Whether the server's protection threshold is reached: it then lists unhealthy instances as healthy.
    #[must_use]
    pub fn protected(&self) -> bool {
        self.list.protected()
    }

    /// All instances, sorted by ip, port and cluster.
    #[must_use]
    pub fn instances(&self) -> &[Arc<Instance>] {
        self.list.hosts()
    }

    /// How many instances the list has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.instances().len()
    }

    /// Whether the list has no instance.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.instances().is_empty()
    }

    /// The instances that `select` shows, in order.
    pub fn select<'a>(&'a self, select: &'a Select) -> impl Iterator<Item = &'a Arc<Instance>> {
        self.instances().iter().filter(|i| select.matches(i))
    }

    /// One healthy, enabled instance, drawn by weight. Allocates nothing and takes the same time for any length.
    ///
    /// # Errors
    /// [`PickError::NoInstance`] if none is usable.
    pub fn pick(&self) -> Result<Arc<Instance>, PickError> {
        self.pick_with(Arc::clone)
    }

    /// Like [`ServiceSnapshot::pick`], but hands the instance to `read` instead of sharing it.
    ///
    /// # Errors
    /// [`PickError::NoInstance`] if none is usable.
    pub fn pick_with<R>(&self, read: impl FnOnce(&Arc<Instance>) -> R) -> Result<R, PickError> {
        let drawn = self.list.tables().draw(thread_random());
        drawn.and_then(|at| self.instances().get(at)).map(read).ok_or_else(|| self.no_instance(&Select::all()))
    }

    /// One healthy, enabled instance of the named clusters, drawn by weight over all of them; none named = all clusters.
    ///
    /// # Errors
    /// [`PickError::NoInstance`] if none is usable.
    pub fn pick_in(&self, clusters: &[&str]) -> Result<Arc<Instance>, PickError> {
        if clusters.is_empty() {
            return self.pick();
        }
        let drawn = self.list.tables().draw_in(self.instances(), clusters, thread_random);
        drawn
            .and_then(|at| self.instances().get(at))
            .map(Arc::clone)
            .ok_or_else(|| self.no_instance(&Select::all().clusters(clusters.iter().copied())))
    }

    /// Like [`ServiceSnapshot::pick`], drawing from a generator of the caller's, so that a seed repeats the sequence.
    ///
    /// # Errors
    /// [`PickError::NoInstance`] if none is usable.
    pub fn pick_seeded(&self, rng: &mut PickRng) -> Result<Arc<Instance>, PickError> {
        let drawn = self.list.tables().draw(rng.next());
        drawn.and_then(|at| self.instances().get(at)).map(Arc::clone).ok_or_else(|| self.no_instance(&Select::all()))
    }

    #[cold]
    fn no_instance(&self, select: &Select) -> PickError {
        let count = |test: fn(&Instance) -> bool| self.select(select).filter(|i| test(i)).count();
        PickError::NoInstance {
            service: self.key.clone(),
            total: count(|_| true),
            healthy: count(|i| i.healthy),
            enabled: count(|i| i.enabled),
            positive_weight: count(|i| super::Weight::usable(i.weight).is_some()),
        }
    }
}

impl fmt::Debug for ServiceSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceSnapshot")
            .field("key", &self.key)
            .field("revision", &self.revision)
            .field("held", &self.held)
            .field("stale_since", &self.stale_since)
            .field("instances", &self.instances())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_identity_collapse_into_the_most_usable_whatever_their_order() {
        let a = Arc::new(Instance::new(("h", 1)).healthy(false));
        let b = Arc::new(Instance::new(("h", 1)).weight(2.0));
        let c = Arc::new(Instance::new(("a", 1)));
        let one = HostList::new(vec![a.clone(), b.clone(), c.clone()], false);
        let two = HostList::new(vec![c.clone(), b.clone(), a], false);
        assert_eq!(one.hosts().to_vec(), vec![c, b]);
        assert!(one.same_content(&two));
    }
}
