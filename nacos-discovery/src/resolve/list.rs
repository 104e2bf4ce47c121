use std::sync::Arc;

use nacos_client::{Instance, ServiceSnapshot};
use tokio::time::Instant;

/// All instances of a service as a source knows them at one moment: also those that take no traffic.
#[derive(Debug, Clone)]
pub struct ServiceList {
    instances: Arc<[Arc<Instance>]>,
    revision: u64,
    protected: bool,
    held: usize,
    stale_since: Option<Instant>,
}

impl ServiceList {
    /// A list that is up to date. Of two lists the one with the greater `revision` counts.
    #[must_use]
    pub fn new(revision: u64, instances: impl IntoIterator<Item = Arc<Instance>>) -> Self {
        let mut instances: Vec<_> = instances.into_iter().collect();
        let sorted = instances.is_sorted_by(|a, b| identity(a) < identity(b));
        if !sorted {
            instances.sort_by(|a, b| identity(a).cmp(&identity(b)));
            instances.dedup_by(|a, b| identity(a) == identity(b));
        }
        Self { instances: instances.into(), revision, protected: false, held: 0, stale_since: None }
    }

    pub(super) fn of_snapshot(snapshot: &ServiceSnapshot) -> Self {
        Self {
            protected: snapshot.protected(),
            held: snapshot.held().map_or(0, |held| held.count),
            stale_since: snapshot.stale_since().map(Instant::from_std),
            ..Self::new(snapshot.revision(), snapshot.instances().iter().cloned())
        }
    }

    /// The same list, which nobody has kept up to date since then.
    #[must_use]
    pub const fn stale_since(mut self, since: Instant) -> Self {
        self.stale_since = Some(since);
        self
    }

    /// The same list, in which the registry shows unhealthy instances as healthy.
    #[must_use]
    pub const fn protected(mut self) -> Self {
        self.protected = true;
        self
    }

    /// All instances, sorted by address and cluster, and unique by these.
    #[must_use]
    pub const fn instances(&self) -> &Arc<[Arc<Instance>]> {
        &self.instances
    }

    /// Its place in the order of lists.
    #[must_use]
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// Whether the registry shows unhealthy instances as healthy, because too few are healthy.
    #[must_use]
    pub const fn is_protected(&self) -> bool {
        self.protected
    }

    /// How many of the instances the registry does not list any longer, which is not believed yet.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.held
    }

    /// Since when nobody keeps it up to date.
    #[must_use]
    pub const fn stale(&self) -> Option<Instant> {
        self.stale_since
    }
}

/// What lists are sorted by.
pub(super) fn identity(instance: &Instance) -> (&str, u16, &str) {
    (&instance.ip, instance.port, &instance.cluster)
}
