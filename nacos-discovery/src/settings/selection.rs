use std::sync::Arc;

use super::{AddressFamily, Ports, ServiceSettings, Subset};
use crate::pick::Filter;

/// Which instances take requests at all, and which are preferred.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    cluster: OwnCluster,
    spillover: Option<f64>,
    zone: Option<Arc<str>>,
    family: AddressFamily,
    ports: Ports,
    subset: Option<Subset>,
    filters: Vec<Arc<dyn Filter>>,
    unhealthy: Unhealthy,
}

/// The own cluster, as far as it was told.
#[derive(Debug, Clone, Default)]
enum OwnCluster {
    /// That of the application, where there is one.
    #[default]
    Inherited,
    Nowhere,
    Named(Arc<str>),
}

/// What happens where all instances are unhealthy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Unhealthy {
    #[default]
    Refused,
    UsedIfAllAre,
}

impl ServiceSettings {
    /// Instances of this cluster are preferred; blank = no cluster is. Default: `cluster-name` of the application's settings
    /// for a directory that a [`crate::Discovery`] made, else none. Mirrors `NacosLoadBalancer`, but looks only at instances
    /// with an address that can be used, and uses other clusters also while every own instance is ejected.
    #[must_use]
    pub fn with_own_cluster(mut self, cluster: impl AsRef<str>) -> Self {
        self.selection.cluster = named(cluster.as_ref()).map_or(OwnCluster::Nowhere, OwnCluster::Named);
        self
    }

    /// No cluster is preferred.
    #[must_use]
    pub fn without_own_cluster(mut self) -> Self {
        self.selection.cluster = OwnCluster::Nowhere;
        self
    }

    /// The part of the own cluster's registered weight that must be usable, above 0 and at most 1. While less is, the
    /// requests that stay there fall in proportion, and the rest goes to other clusters by weight. Default none: all stay as
    /// long as one instance is usable. Other numbers mean none.
    #[must_use]
    pub fn with_cluster_spillover(mut self, usable: Option<f64>) -> Self {
        self.selection.spillover = usable.filter(|usable| *usable > 0.0).map(|usable| usable.min(1.0));
        self
    }

    /// Instances whose metadata entry `zone` is this one, in any case, are preferred within what the own cluster leaves; blank
    /// = no zone is. Default none. Mirrors `spring.cloud.loadbalancer.zone`.
    #[must_use]
    pub fn with_zone(mut self, zone: impl AsRef<str>) -> Self {
        self.selection.zone = named(zone.as_ref());
        self
    }

    /// Which addresses can be used, default [`AddressFamily::Auto`].
    #[must_use]
    pub const fn with_address_family(mut self, family: AddressFamily) -> Self {
        self.selection.family = family;
        self
    }

    /// Which port of an instance is called, default the registered one.
    #[must_use]
    pub fn with_ports(mut self, ports: Ports) -> Self {
        self.selection.ports = ports;
        self
    }

    /// Calls only a part of many instances, default all.
    #[must_use]
    pub fn with_subset(mut self, subset: Option<Subset>) -> Self {
        self.selection.subset = subset;
        self
    }

    /// Adds a filter, which is asked after those added before.
    #[must_use]
    pub fn with_filter(mut self, filter: impl Filter) -> Self {
        self.selection.filters.push(Arc::new(filter));
        self
    }

    /// Uses unhealthy instances while there is no healthy one. By default they take no requests.
    #[must_use]
    pub const fn with_unhealthy_if_all_are(mut self) -> Self {
        self.selection.unhealthy = Unhealthy::UsedIfAllAre;
        self
    }

    /// Names the own cluster where nothing was said of it.
    pub(super) fn set_default_cluster(&mut self, cluster: &str) {
        if let (OwnCluster::Inherited, Some(cluster)) = (&self.selection.cluster, named(cluster)) {
            self.selection.cluster = OwnCluster::Named(cluster);
        }
    }
}

impl Selection {
    pub(crate) fn own_cluster(&self) -> Option<&str> {
        match &self.cluster {
            OwnCluster::Named(cluster) => Some(cluster),
            OwnCluster::Inherited | OwnCluster::Nowhere => None,
        }
    }

    pub(crate) const fn spillover(&self) -> Option<f64> {
        self.spillover
    }

    pub(crate) fn zone(&self) -> Option<&str> {
        self.zone.as_deref()
    }

    pub(crate) const fn family(&self) -> AddressFamily {
        self.family
    }

    pub(crate) const fn ports(&self) -> &Ports {
        &self.ports
    }

    pub(crate) const fn subset(&self) -> Option<&Subset> {
        self.subset.as_ref()
    }

    pub(crate) fn filters(&self) -> &[Arc<dyn Filter>] {
        &self.filters
    }

    pub(crate) fn uses_unhealthy(&self) -> bool {
        self.unhealthy == Unhealthy::UsedIfAllAre
    }
}

fn named(text: &str) -> Option<Arc<str>> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.into())
}
