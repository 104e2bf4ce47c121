use nacos_client::ServiceKey;
use tower_layer::Layer;

use super::Balance;
use crate::Directory;

/// Sends each request to an instance of the service that its URI names: `lb://order-service/orders/7`.
#[derive(Debug, Clone)]
pub struct BalanceLayer {
    directory: Directory,
    group: String,
}

impl BalanceLayer {
    /// With the services of a [`Directory`], or the one of a [`crate::Discovery`].
    #[must_use]
    pub fn new(directory: impl Into<Directory>) -> Self {
        let directory = directory.into();
        Self { directory, group: String::new() }
    }

    pub(super) const fn directory(&self) -> &Directory {
        &self.directory
    }

    pub(super) fn key(&self, name: &str) -> ServiceKey {
        ServiceKey::new(&self.group, name)
    }
}

impl<S> Layer<S> for BalanceLayer {
    type Service = Balance<S>;

    fn layer(&self, inner: S) -> Balance<S> {
        Balance::new(inner, self.clone())
    }
}
