use std::collections::BTreeMap;
use std::sync::Arc;

use super::error::OpError;
use super::instances::{Shown, rows_of, view};
use super::keys::ServiceKey;
use crate::context::Context;
use crate::registry::{ClusterMetadata, Page, Service, share};

/// A service in an overview.
#[derive(Debug, Clone)]
pub(crate) struct ServiceSummary {
    pub(crate) service: Arc<Service>,
    pub(crate) clusters: usize,
    pub(crate) instances: usize,
    pub(crate) healthy: usize,
    /// The threshold is reached: lists show all instances as healthy.
    pub(crate) protected: bool,
}

/// Which services an overview shows. Texts are parts of names, empty for any.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServiceFilter<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) group: &'a str,
    pub(crate) name: &'a str,
    pub(crate) hide_empty: bool,
}

/// How many services match, and those on one page of them.
pub(crate) fn services(context: &Context, filter: ServiceFilter<'_>, page: Page) -> (usize, Vec<Arc<Service>>) {
    let all = context.registry.services(Some(filter.namespace), |service| {
        service.group.contains(filter.group)
            && service.name.contains(filter.name)
            && (!filter.hide_empty || service.instances() > 0)
    });
    let (skip, take) = page.bounds();
    (all.len(), all.into_iter().skip(skip).take(take).collect())
}

pub(crate) fn summary(context: &Context, service: &Arc<Service>) -> ServiceSummary {
    let view = view(context, service);
    let rows = view.rows();
    let healthy = rows.iter().filter(|instance| instance.healthy).count();
    let mut clusters: Vec<&str> = rows.iter().map(|instance| &*instance.cluster).collect();
    clusters.sort_unstable();
    clusters.dedup();
    let threshold = context.registry.describe(service).and_then(|d| d.metadata).and_then(|m| m.threshold());
    let protected = !rows.is_empty() && threshold.is_some_and(|threshold| share(healthy, rows.len()) <= threshold);
    ServiceSummary { service: Arc::clone(service), clusters: clusters.len(), instances: rows.len(), healthy, protected }
}

/// The clusters of a service that have instances, with what is said about them.
pub(super) fn clusters_of(
    context: &Context,
    service: &Arc<Service>,
    said: &BTreeMap<Box<str>, Arc<ClusterMetadata>>,
) -> Vec<(Arc<str>, Arc<ClusterMetadata>)> {
    let mut names: Vec<Arc<str>> = view(context, service).rows().iter().map(|i| Arc::clone(&i.cluster)).collect();
    names.sort_unstable();
    names.dedup();
    let with_metadata = |name: Arc<str>| {
        let metadata = said.get(&*name).cloned().unwrap_or_default();
        (name, metadata)
    };
    names.into_iter().map(with_metadata).collect()
}

/// All instances of one cluster, or of all clusters; the service and the cluster must be there.
pub(crate) fn instances_of(context: &Context, key: &ServiceKey, cluster: Option<&str>) -> Result<Vec<Shown>, OpError> {
    let service = context.registry.find(key.as_ref()).filter(|service| service.kind().is_some());
    let service = service.ok_or(OpError::ServiceNotFound)?;
    let mut rows = rows_of(context, &service);
    if let Some(cluster) = cluster {
        rows.retain(|shown| &*shown.instance.cluster == cluster);
        if rows.is_empty() {
            return Err(OpError::ClusterNotFound);
        }
    }
    Ok(rows)
}
