use std::sync::Arc;

use super::error::OpError;
use super::keys::ServiceKey;
use crate::context::Context;
use crate::registry::{ClusterMetadata, Kind, Page, Service, ServiceMetadata};

/// Creates an empty service of a kind, which stays until it is deleted.
pub(crate) fn create(
    context: &Context,
    key: &ServiceKey,
    kind: Kind,
    metadata: ServiceMetadata,
) -> Result<(), OpError> {
    if kind == Kind::Persistent {
        context.note_memory_only_persistence();
    }
    Ok(context.registry.create(key.as_ref(), kind, metadata)?)
}

pub(crate) fn set_metadata(context: &Context, key: &ServiceKey, metadata: ServiceMetadata) -> Result<(), OpError> {
    Ok(context.registry.set_metadata(key.as_ref(), metadata)?)
}

/// Deletes a service that has no instances.
pub(crate) fn delete(context: &Context, key: &ServiceKey) -> Result<(), OpError> {
    Ok(context.registry.delete(key.as_ref())?)
}

pub(crate) fn set_cluster(
    context: &Context,
    key: &ServiceKey,
    cluster: &str,
    metadata: ClusterMetadata,
) -> Result<(), OpError> {
    Ok(context.registry.set_cluster(key.as_ref(), cluster, metadata)?)
}

/// What is known about a service, apart from its instances.
#[derive(Debug, Clone)]
pub(crate) struct ServiceDetail {
    pub(crate) service: Arc<Service>,
    pub(crate) kind: Kind,
    /// The defaults, unless an operator said something.
    pub(crate) metadata: Arc<ServiceMetadata>,
    /// Those that have instances, by name.
    pub(crate) clusters: Vec<(Arc<str>, Arc<ClusterMetadata>)>,
}

pub(crate) fn detail(context: &Context, key: &ServiceKey) -> Result<ServiceDetail, OpError> {
    let service = context.registry.find(key.as_ref()).ok_or(OpError::ServiceNotFound)?;
    let described = context.registry.describe(&service).ok_or(OpError::ServiceNotFound)?;
    let clusters = super::catalog::clusters_of(context, &service, &described.clusters);
    let metadata = described.metadata.unwrap_or_default();
    Ok(ServiceDetail { service, kind: described.kind, metadata, clusters })
}

/// How many services a group has, and those on one page.
pub(crate) fn page(context: &Context, namespace: &str, group: &str, page: Page) -> (usize, Vec<Arc<Service>>) {
    context.registry.list_page(namespace, group, page)
}

/// All services, of one namespace or of all, by namespace, group and name.
pub(crate) fn names(context: &Context, namespace: Option<&str>, keep: impl Fn(&Service) -> bool) -> Vec<Arc<Service>> {
    context.registry.services(namespace, keep)
}
