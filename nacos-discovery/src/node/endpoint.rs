use std::sync::Arc;
use std::time::Duration;

use http::uri::{Authority, Scheme};

use super::Node;
use crate::ServiceInstance;
use crate::eject::EjectionState;

/// Where requests to an instance go.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Target {
    /// `https` for an instance that speaks TLS, else `http`.
    pub scheme: Scheme,
    /// Host and port, IPv6 in brackets.
    pub authority: Authority,
}

impl Target {
    /// This scheme, host and port.
    #[must_use]
    pub const fn new(scheme: Scheme, authority: Authority) -> Self {
        Self { scheme, authority }
    }
}

/// One instance that requests can go to: as the newest list has it, with what this process knows of it from its own calls.
#[derive(Debug, Clone)]
pub struct Endpoint {
    instance: ServiceInstance,
    target: Target,
    node: Arc<Node>,
    locality: Locality,
}

/// Whether an instance is where this process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locality {
    /// In its cluster, or no cluster is preferred.
    OwnCluster,
    OtherCluster,
}

impl Endpoint {
    pub(crate) const fn new(instance: ServiceInstance, target: Target, node: Arc<Node>, locality: Locality) -> Self {
        Self { instance, target, node, locality }
    }

    /// Whether it is in another cluster than the preferred one.
    #[must_use]
    pub fn is_cross_cluster(&self) -> bool {
        self.locality == Locality::OtherCluster
    }

    /// The instance as the registry lists it.
    #[must_use]
    pub const fn instance(&self) -> &ServiceInstance {
        &self.instance
    }

    /// Where requests go.
    #[must_use]
    pub const fn target(&self) -> &Target {
        &self.target
    }

    /// Calls of this process that have not ended.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.node.in_flight()
    }

    /// How long it takes to answer: the slowest of its latest answers counts most, and a failed call counts as a slow one.
    /// Where it has not been called for some time, what is usual in the service counts more and more. `None` while nothing is
    /// known of any instance of the service.
    #[must_use]
    pub fn latency(&self) -> Option<Duration> {
        self.node.latency()
    }

    /// What one more call would cost: the latency in nanoseconds times the calls that it would have then. Above 0, and only
    /// good for comparing instances of one service. Takes no lock and reads no clock.
    #[must_use]
    pub fn cost(&self) -> f64 {
        self.node.cost()
    }

    /// Whether it takes requests, as far as this process's own calls say. For reports: it takes a lock.
    #[must_use]
    pub fn ejection(&self) -> EjectionState {
        self.node.seat().state()
    }

    pub(crate) const fn node(&self) -> &Arc<Node> {
        &self.node
    }
}
