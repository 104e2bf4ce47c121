use std::sync::Arc;

use http::uri::{Authority, Scheme};

use super::Node;
use crate::ServiceInstance;

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
}

impl Endpoint {
    pub(crate) const fn new(instance: ServiceInstance, target: Target, node: Arc<Node>) -> Self {
        Self { instance, target, node }
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

    pub(crate) const fn node(&self) -> &Arc<Node> {
        &self.node
    }
}
