use nacos_client::ServiceKey;

use super::Named;

/// Which service is meant: a name in the group of the [`crate::BalanceLayer`], or a [`ServiceKey`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceRef {
    /// A name in the group of the layer.
    Name(String),
    /// Group and name.
    Key(ServiceKey),
}

impl ServiceRef {
    pub(super) fn named(&self) -> Named<'_> {
        match self {
            Self::Name(name) => Named::Name(name),
            Self::Key(key) => Named::Key(key),
        }
    }
}

impl From<&str> for ServiceRef {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl From<String> for ServiceRef {
    fn from(name: String) -> Self {
        Self::Name(name)
    }
}

impl From<ServiceKey> for ServiceRef {
    fn from(key: ServiceKey) -> Self {
        Self::Key(key)
    }
}

impl From<&ServiceKey> for ServiceRef {
    fn from(key: &ServiceKey) -> Self {
        Self::Key(key.clone())
    }
}

/// Group and name.
impl From<(&str, &str)> for ServiceRef {
    fn from((group, name): (&str, &str)) -> Self {
        Self::Key(ServiceKey::new(group, name))
    }
}
