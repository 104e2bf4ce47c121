use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use nacos_client::{Instance, Select, ServiceKey, ServiceSnapshot};

use super::ServiceInstance;

/// The instances of one service that take traffic, as they were at one moment: sorted by address and cluster, and unique by
/// these. Cheap to clone; it reads like a slice.
#[derive(Debug, Clone)]
pub struct InstanceList {
    service: ServiceKey,
    instances: Arc<[ServiceInstance]>,
    stale_since: Option<Instant>,
    protected: bool,
}

impl InstanceList {
    /// A list that is up to date. Of several instances of one identity the first stays.
    #[must_use]
    pub fn new(service: ServiceKey, instances: impl IntoIterator<Item = Arc<Instance>>) -> Self {
        let mut instances: Vec<_> =
            instances.into_iter().map(|instance| ServiceInstance::new(service.clone(), instance)).collect();
        instances.sort_by(|a, b| a.identity().cmp(&b.identity()));
        instances.dedup();
        Self { service, instances: instances.into(), stale_since: None, protected: false }
    }

    /// The pickable part of a snapshot.
    pub(super) fn of_snapshot(snapshot: &ServiceSnapshot) -> Self {
        let pickable = Select::pickable();
        Self {
            stale_since: snapshot.stale_since(),
            protected: snapshot.protected(),
            ..Self::new(snapshot.key().clone(), snapshot.select(&pickable).cloned())
        }
    }

    /// The service.
    #[must_use]
    pub const fn service(&self) -> &ServiceKey {
        &self.service
    }

    /// Since when nobody keeps it up to date: the connection to the registry is lost, and this is the last list known.
    #[must_use]
    pub const fn stale_since(&self) -> Option<Instant> {
        self.stale_since
    }

    /// Whether the registry shows unhealthy instances as healthy, because too few are healthy.
    #[must_use]
    pub const fn is_protected(&self) -> bool {
        self.protected
    }

    /// The same instance as it is here.
    pub(super) fn find(&self, instance: &ServiceInstance) -> Option<&ServiceInstance> {
        let at = self.binary_search_by(|own| own.identity().cmp(&instance.identity())).ok()?;
        self.get(at)
    }

    fn marks(&self) -> (Option<Instant>, bool) {
        (self.stale_since, self.protected)
    }

    pub(super) fn same_marks(&self, other: &Self) -> bool {
        self.marks() == other.marks()
    }
}

impl Deref for InstanceList {
    type Target = [ServiceInstance];

    fn deref(&self) -> &[ServiceInstance] {
        &self.instances
    }
}

impl<'a> IntoIterator for &'a InstanceList {
    type Item = &'a ServiceInstance;
    type IntoIter = std::slice::Iter<'a, ServiceInstance>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
