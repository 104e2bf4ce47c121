//! What naming asks of a server and what it gets back.

use std::sync::Arc;

use nacos_proto::grpc::ServiceInfo;

use super::CallError;
use crate::model::{Instance, ServiceKey};

/// One request to the server. The namespace is the transport's: one client serves one namespace.
#[derive(Debug, Clone)]
pub(crate) enum Call {
    /// Makes `instance` the connection's only record of the service.
    Register { key: ServiceKey, instance: Arc<Instance> },
    /// Makes `instances` the connection's record of the service: always the full set.
    RegisterBatch { key: ServiceKey, instances: Vec<Arc<Instance>> },
    /// Removes the connection's record. The servers of the field remove all of it, whatever instance is named.
    Deregister { key: ServiceKey, instance: Arc<Instance> },
    /// Registers an instance that outlives the connection.
    RegisterPersistent { key: ServiceKey, instance: Arc<Instance> },
    /// Removes one persistent instance by its address.
    DeregisterPersistent { key: ServiceKey, instance: Arc<Instance> },
    /// Asks for pushes of the service; answered with the current list.
    Subscribe { key: ServiceKey },
    /// Ends the pushes of the service.
    Unsubscribe { key: ServiceKey },
    /// Asks for the current list once.
    Query { key: ServiceKey },
    /// Asks for one page of the service names of a group; `page` counts from 1.
    List { group: String, page: u32, size: u32 },
}

/// The answer to a [`Call`] that succeeded.
#[derive(Debug)]
pub(crate) enum Reply {
    /// Acknowledged, no content: registrations of every form, and unsubscribe.
    Done,
    /// A batch of which these were not acknowledged, each for a reason of its own; the rest was.
    Partly(Vec<(Arc<Instance>, CallError)>),
    /// The list of a service: subscribe and query. `None` when the server sent none: keep what is known.
    Service(Option<ServiceInfo>),
    /// One page of service names and the number of names on all pages.
    Services { count: usize, names: Vec<String> },
}
