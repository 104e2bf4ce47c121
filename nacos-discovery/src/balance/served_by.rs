use std::fmt;
use std::sync::Arc;

use crate::{Endpoint, ServiceInstance};

/// The instance that answered, for logs: among the extensions of the response. Cheap to clone. Who will answer is known to
/// [`crate::Hooks`] before the request is sent; the client below finds the address in the URI.
#[derive(Debug, Clone)]
pub struct ServedBy {
    endpoint: Arc<Endpoint>,
}

impl ServedBy {
    pub(super) const fn new(endpoint: Arc<Endpoint>) -> Self {
        Self { endpoint }
    }

    /// The instance as the registry lists it.
    #[must_use]
    pub fn instance(&self) -> &ServiceInstance {
        self.endpoint.instance()
    }

    /// The endpoint.
    #[must_use]
    pub const fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }
}

/// Where the request went: scheme, host and port.
impl fmt::Display for ServedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = self.endpoint.target();
        write!(f, "{}://{}", target.scheme, target.authority)
    }
}
