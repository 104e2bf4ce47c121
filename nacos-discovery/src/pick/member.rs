use std::sync::Arc;

use crate::Endpoint;

/// An endpoint in a table, with its weight there.
#[derive(Debug, Clone)]
pub struct Member {
    endpoint: Arc<Endpoint>,
    weight: f64,
}

impl Member {
    /// `weight` is finite and above 0.
    pub(crate) const fn new(endpoint: Arc<Endpoint>, weight: f64) -> Self {
        Self { endpoint, weight }
    }

    /// The endpoint.
    #[must_use]
    pub const fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    /// Its weight among the members of the table: finite, above 0. It differs from the registered one while a new
    /// instance is started slowly, and where a share of the traffic leaves the own cluster.
    #[must_use]
    pub const fn weight(&self) -> f64 {
        self.weight
    }
}
