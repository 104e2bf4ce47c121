use std::sync::{Arc, Mutex, PoisonError};

use super::few::Few;
use crate::node::Node;
use crate::{Endpoint, ServiceInstance};

/// The instances that a request was sent to already. As an extension of the request it tells the balancer to choose
/// another one; clones share one list.
///
/// It also keeps what is drawn for the request where a rule spreads requests over labels by their shares: each attempt is
/// routed by the same draw.
#[derive(Debug, Clone)]
pub struct Tried {
    endpoints: Arc<Mutex<Seen>>,
    draw: u64,
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
        Self::drawn(fastrand::u64(..))
    }

    fn drawn(draw: u64) -> Self {
        Self { endpoints: Arc::default(), draw }
    }

    /// None yet, of the same request.
    pub(crate) fn anew(&self) -> Self {
        Self::drawn(self.draw)
    }

    /// What is drawn for the request.
    pub(crate) const fn draw(&self) -> u64 {
        self.draw
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

impl Default for Tried {
    fn default() -> Self {
        Self::new()
    }
}
