use nacos_client::{Instance, ServiceKey};

/// What a process registers: an instance of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Registration {
    /// The service, with its group.
    pub service: ServiceKey,
    /// The instance.
    pub instance: Instance,
}

impl Registration {
    /// An instance of a service.
    #[must_use]
    pub const fn new(service: ServiceKey, instance: Instance) -> Self {
        Self { service, instance }
    }

    /// Whether the registry takes both for one and the same, with other fields at most.
    pub(super) fn is_same_place(&self, other: &Self) -> bool {
        self.service == other.service && self.instance.key().is(&other.instance)
    }
}
