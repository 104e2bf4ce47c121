use std::sync::Arc;

use http::Method;
use http::uri::PathAndQuery;
use nacos_client::ServiceKey;

use crate::{Endpoint, RouteTaken, ServiceInstance};

/// A call of a service, as [`crate::Hooks`] are told of it.
#[derive(Debug)]
pub struct CallInfo {
    service: ServiceKey,
    method: Method,
    path: PathAndQuery,
    attempt: u32,
    endpoint: Option<Arc<Endpoint>>,
    route: Option<RouteTaken>,
}

impl CallInfo {
    pub(super) const fn new(service: ServiceKey, method: Method, path: PathAndQuery, attempt: u32) -> Self {
        Self { service, method, path, attempt, endpoint: None, route: None }
    }

    pub(super) fn select(&mut self, endpoint: Arc<Endpoint>) {
        self.endpoint = Some(endpoint);
    }

    pub(super) fn route_by(&mut self, route: RouteTaken) {
        self.route = Some(route);
    }

    /// The service.
    #[must_use]
    pub const fn service(&self) -> &ServiceKey {
        &self.service
    }

    /// The method.
    #[must_use]
    pub const fn method(&self) -> &Method {
        &self.method
    }

    /// The path, without the query, which may hold secrets.
    #[must_use]
    pub fn path(&self) -> &str {
        self.path.path()
    }

    /// Which attempt of the request it is: 1 for the first.
    #[must_use]
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The instance, once it is chosen.
    #[must_use]
    pub fn instance(&self) -> Option<&ServiceInstance> {
        self.endpoint.as_deref().map(Endpoint::instance)
    }

    /// How the request was routed, once it was, if the service has routing rules.
    #[must_use]
    pub const fn route(&self) -> Option<&RouteTaken> {
        self.route.as_ref()
    }
}
