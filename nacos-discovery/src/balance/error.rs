use std::error::Error;

use http::StatusCode;

use super::BadTarget;
use super::outcome::Judge;
use crate::{DiscoveryError, NoInstance, ServiceInstance, TransportFailure};

/// A request through [`crate::Balance`] failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BalanceError {
    /// No instance can take it.
    #[error(transparent)]
    NoInstance(#[from] NoInstance),
    /// It cannot be sent to an instance as it is, or names no service.
    #[error(transparent)]
    BadTarget(#[from] BadTarget),
    /// The service cannot be watched.
    #[error("the service cannot be discovered")]
    Discovery(#[from] DiscoveryError),
    /// The client below failed; its own error is the source.
    #[error("the call of {} failed{}{}", called(.instance.as_ref()), words(*.failure), hint(.host.as_deref()))]
    #[non_exhaustive]
    Inner {
        /// What that means for the request.
        failure: TransportFailure,
        /// Who was called; `None` if the client was not ready, or the request was for no service.
        instance: Option<ServiceInstance>,
        /// The host of a request that was for no service, if no connection to it came about and it may well be the name of
        /// one, as it has no dot.
        host: Option<Box<str>>,
        /// The error of the client below.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl BalanceError {
    /// The error of a service above a balancer: that of the balancer as it is, one of a layer between as the cause.
    pub(crate) fn of(error: Box<dyn Error + Send + Sync>) -> Self {
        match error.downcast::<Self>() {
            Ok(error) => *error,
            Err(source) => Self::inner(Judge::default().error(&*source), source),
        }
    }

    /// The client below refused the request before it was for anybody.
    #[cfg(feature = "reqwest")]
    pub(crate) fn refused(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::inner(TransportFailure::Broken, source.into())
    }

    /// The client below failed with nobody called.
    pub(super) const fn inner(failure: TransportFailure, source: Box<dyn Error + Send + Sync>) -> Self {
        Self::Inner { failure, instance: None, host: None, source }
    }

    /// The status with which a proxy answers: 400 for a bad target or a name that no service can have, 503 if there is nobody who can be asked, 504 if there
    /// was no answer in time, 502 if there was none at all.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        match self {
            Self::Discovery(DiscoveryError::Invalid(_)) => StatusCode::BAD_REQUEST,
            Self::BadTarget(BadTarget::NotSecure { .. }) | Self::NoInstance(_) | Self::Discovery(_) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::BadTarget(_) => StatusCode::BAD_REQUEST,
            Self::Inner { failure: TransportFailure::Timeout, .. } => StatusCode::GATEWAY_TIMEOUT,
            Self::Inner { .. } => StatusCode::BAD_GATEWAY,
        }
    }

    /// How the call failed, if an instance was called.
    #[must_use]
    pub const fn failure(&self) -> Option<TransportFailure> {
        match self {
            Self::Inner { failure, .. } => Some(*failure),
            _ => None,
        }
    }
}

fn called(instance: Option<&ServiceInstance>) -> String {
    instance.map_or_else(|| String::from("the client below"), |instance| instance.uri())
}

fn hint(host: Option<&str>) -> String {
    let words = |host| format!("; if {host} is a service, write lb://{host}/, or name it in BalanceLayer::hosts");
    host.map(words).unwrap_or_default()
}

const fn words(failure: TransportFailure) -> &'static str {
    match failure {
        TransportFailure::Connect => ": no connection came about, nothing was sent",
        TransportFailure::Timeout => ": no answer in time",
        TransportFailure::Broken => " before there was an answer",
    }
}
