use std::error::Error;

use nacos_client::{InvalidArgument, QueryError, StartError};

/// Why a discovery client has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoveryError {
    /// The name is invalid: nothing was asked.
    #[error(transparent)]
    Invalid(#[from] InvalidArgument),
    /// There was no answer in time; the same question may be answered later.
    #[error("the registry gave no answer")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
    /// The registry refuses to answer, and will refuse again.
    #[error("the registry refused to answer")]
    Refused(#[source] Box<dyn Error + Send + Sync>),
    /// The client cannot run where it was asked, or is shut down.
    #[error(transparent)]
    Start(#[from] StartError),
}

impl DiscoveryError {
    /// No answer for this reason, which may pass.
    pub fn unavailable(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unavailable(cause.into())
    }

    /// Whether the same question may be answered later.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}

impl From<QueryError> for DiscoveryError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Invalid(invalid) => Self::Invalid(invalid),
            QueryError::Start(start) => Self::Start(start),
            other if other.is_retryable() => Self::Unavailable(other.into()),
            other => Self::Refused(other.into()),
        }
    }
}
