use super::{Registration, RegistrationState};

/// What is wanted of the registry, and how far it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    pub(crate) state: RegistrationState,
    /// `None` if the settings want no registration.
    pub(crate) wanted: Option<Registration>,
    /// Grows with every change of `wanted`.
    pub(super) version: u64,
    /// Whether a server ever had it, so that consumers may know it.
    pub(super) was_visible: bool,
}

impl Record {
    pub(super) const fn new(state: RegistrationState, wanted: Option<Registration>) -> Self {
        let was_visible = matches!(state, RegistrationState::Registered);
        Self { state, wanted, version: 0, was_visible }
    }
}
