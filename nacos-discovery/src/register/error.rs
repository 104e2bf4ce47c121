use std::time::Duration;

use nacos_client::{ConfirmError, InvalidArgument, QueryError, RegisterError as RecordError, StartError};

use super::{RegistrationState, Status};
use crate::AddressChoiceError;

/// Why a registration cannot be made, changed or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// There is no port to register: listen first and hand over the address of the listener, or set `port`.
    #[error(
        "no port to register: bind first and pass the address of the listener, or set spring.cloud.nacos.discovery.port"
    )]
    NoPort,
    /// There is no address to register.
    #[error(transparent)]
    Address(#[from] AddressChoiceError),
    /// The service or the instance is invalid: nothing was recorded.
    #[error(transparent)]
    Invalid(#[from] InvalidArgument),
    /// The registry did not acknowledge it.
    #[error("the registry did not acknowledge the registration")]
    Confirm(#[source] ConfirmError),
    /// A change was recorded and is not acknowledged yet; it is tried on.
    #[error("the change is not acknowledged within {waited:?}, the registration is {state}")]
    NotYet {
        /// How long the caller waited.
        waited: Duration,
        /// How far the registration is.
        state: RegistrationState,
    },
    /// An operator's setting for the instance counts more than what it registers.
    #[error("an operator's setting keeps the instance from being {wanted}, change it in the console")]
    Overridden {
        /// What it should be.
        wanted: Status,
    },
    /// The registry did not tell what it has.
    #[error("the registry did not answer")]
    Query(#[source] QueryError),
    /// There is nothing to change: the registration is off, replaced or taken back.
    #[error("there is no registration: {0}")]
    NotRegistered(RegistrationState),
    /// The client cannot run where it was used, or is shut down.
    #[error(transparent)]
    Start(#[from] StartError),
}

impl RegisterError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Confirm(error) => error.is_retryable(),
            Self::Query(error) => error.is_retryable(),
            Self::NotYet { .. } => true,
            Self::NoPort
            | Self::Address(_)
            | Self::Overridden { .. }
            | Self::Invalid(_)
            | Self::NotRegistered(_)
            | Self::Start(_) => false,
        }
    }
}

impl From<ConfirmError> for RegisterError {
    fn from(error: ConfirmError) -> Self {
        match error {
            ConfirmError::Invalid(invalid) => Self::Invalid(invalid),
            ConfirmError::Start(start) => Self::Start(start),
            ConfirmError::Withdrawn => Self::NotRegistered(RegistrationState::Replaced),
            other => Self::Confirm(other),
        }
    }
}

impl From<RecordError> for RegisterError {
    fn from(error: RecordError) -> Self {
        ConfirmError::from(error).into()
    }
}

impl From<QueryError> for RegisterError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Invalid(invalid) => Self::Invalid(invalid),
            QueryError::Start(start) => Self::Start(start),
            other => Self::Query(other),
        }
    }
}
