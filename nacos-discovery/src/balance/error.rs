use std::error::Error;

use crate::{DiscoveryError, NoInstance};

/// A request through [`crate::Balance`] failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BalanceError {
    /// No instance can take it. A proxy answers 503.
    #[error(transparent)]
    NoInstance(#[from] NoInstance),
    /// It names no service. A proxy answers 400.
    #[error(transparent)]
    BadTarget(#[from] BadTarget),
    /// The service cannot be watched.
    #[error("the service cannot be discovered")]
    Discovery(#[from] DiscoveryError),
    /// The client below failed: its own error.
    #[error("the call failed")]
    Inner(#[source] Box<dyn Error + Send + Sync>),
}

/// What is wrong with where a request goes to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadTarget {
    /// `lb:` without the name of a service.
    #[error("the URI `{uri}` names no service")]
    NoService {
        /// The URI, without its query.
        uri: String,
    },
    /// The URI cannot be sent to the instance: it has no form that fits.
    #[error("the URI `{uri}` cannot be sent to an instance")]
    Unfit {
        /// The URI, without its query.
        uri: String,
    },
}
