use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::HeaderValue;
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

    /// The `Host` header of a request to it: without the port where that is the one of the scheme.
    fn host(&self) -> Option<HeaderValue> {
        let usual = if self.scheme == Scheme::HTTPS { 443 } else { 80 };
        let is_usual = self.authority.port_u16() == Some(usual);
        let host = if is_usual { self.authority.host() } else { self.authority.as_str() };
        HeaderValue::from_str(host).ok()
    }
}

/// One instance that requests can go to: as the newest list has it, with what this process knows of it from its own calls.
#[derive(Debug, Clone)]
pub struct Endpoint {
    instance: ServiceInstance,
    target: Target,
    node: Arc<Node>,
    locality: Locality,
    /// Made by the first request that needs it.
    host: OnceLock<Option<HeaderValue>>,
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
        Self { instance, target, node, locality, host: OnceLock::new() }
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

    /// The `Host` header of a request to it. `None` if no header can hold it.
    pub(crate) fn host(&self) -> Option<&HeaderValue> {
        self.host.get_or_init(|| self.target.host()).as_ref()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sc20_the_host_has_a_port_unless_it_is_the_one_of_the_scheme() {
        for (scheme, authority, host) in [
            (Scheme::HTTP, "10.0.0.1:8080", "10.0.0.1:8080"),
            (Scheme::HTTP, "10.0.0.1:80", "10.0.0.1"),
            (Scheme::HTTP, "10.0.0.1:443", "10.0.0.1:443"),
            (Scheme::HTTPS, "[2001:db8::1]:443", "[2001:db8::1]"),
            (Scheme::HTTPS, "[2001:db8::1]:80", "[2001:db8::1]:80"),
            (Scheme::HTTP, "orders.example", "orders.example"),
        ] {
            let target = Target::new(scheme, authority.parse().unwrap());
            assert_eq!(target.host().unwrap(), host, "{authority}");
        }
    }
}
