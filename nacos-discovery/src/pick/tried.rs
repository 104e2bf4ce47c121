use std::sync::{Arc, Mutex, PoisonError};

use super::few::Few;
use crate::node::Node;
use crate::{Endpoint, ServiceInstance};

/// The instances that a request was sent to already. As an extension of the request it tells the balancer to choose
/// another one; clones share one list.
#[derive(Debug, Clone, Default)]
pub struct Tried {
    endpoints: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    nodes: Few<Arc<Node>>,
    instances: Few<ServiceInstance>,
}

impl Tried {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The instances, in the order in which they were tried.
    #[must_use]
    pub fn instances(&self) -> Vec<ServiceInstance> {
        self.with(|seen| seen.instances.as_slice().to_vec())
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.with(|seen| seen.nodes.as_slice().len())
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn add(&self, endpoint: &Endpoint) {
        self.with(|seen| {
            seen.nodes.push(Arc::clone(endpoint.node()));
            seen.instances.push(endpoint.instance().clone());
        });
    }

    /// Hands the nodes to `read`, under the lock: it must not come back here.
    pub(crate) fn with_nodes<R>(&self, read: impl FnOnce(&[Arc<Node>]) -> R) -> R {
        self.with(|seen| read(seen.nodes.as_slice()))
    }

    fn with<R>(&self, read: impl FnOnce(&mut Seen) -> R) -> R {
        read(&mut self.endpoints.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
