/// Which port of an instance is called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Ports {
    /// The registered one.
    #[default]
    Registered,
    /// The one in the metadata under this key, or the registered one where there is no such entry. An instance whose entry is
    /// not a port takes no requests.
    Metadata(String),
}

impl Ports {
    /// The one in the metadata under this key: `gRPC_port` is what gRPC starters for Spring register.
    #[must_use]
    pub fn metadata(key: impl Into<String>) -> Self {
        Self::Metadata(key.into())
    }
}
