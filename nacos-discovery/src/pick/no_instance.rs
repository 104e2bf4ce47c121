use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use nacos_client::ServiceKey;

use crate::DiscoveryError;

/// No instance can take the request, and why; [`crate::Discovery::explain`] tells it of each instance, and what may be meant
/// instead. Where the source of lists is in trouble, its error is the `source()`.
///
/// Two are equal if service and reason are.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NoInstance {
    /// The service.
    pub service: ServiceKey,
    /// Why.
    pub reason: NoInstanceReason,
    cause: Option<Arc<DiscoveryError>>,
}

impl NoInstance {
    /// Of this service, for this reason.
    #[must_use]
    pub const fn new(service: ServiceKey, reason: NoInstanceReason) -> Self {
        Self { service, reason, cause: None }
    }

    pub(crate) fn caused_by(mut self, cause: Option<Arc<DiscoveryError>>) -> Self {
        self.cause = cause;
        self
    }
}

impl PartialEq for NoInstance {
    fn eq(&self, other: &Self) -> bool {
        (&self.service, &self.reason) == (&other.service, &other.reason)
    }
}

impl Eq for NoInstance {}

impl fmt::Display for NoInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no instance of {} can take the request: {}", self.service, self.reason)
    }
}

impl Error for NoInstance {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

/// Why no instance can take a request. Every reason asks for another reaction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoInstanceReason {
    /// No list has arrived in time: the registry cannot be reached, or refuses.
    #[error("no list of it arrived within {waited:?}")]
    Unknown {
        /// How long the request waited.
        waited: Duration,
    },
    /// Nobody provides the service.
    #[error("none is registered")]
    NoneRegistered,
    /// All instances are disabled or of weight 0.
    #[error("all {count} are disabled or of weight 0")]
    AllDrained {
        /// How many there are.
        count: usize,
    },
    /// All instances that are not drained are unhealthy.
    #[error("all {count} that are not drained are unhealthy")]
    AllUnhealthy {
        /// How many there are.
        count: usize,
    },
    /// No healthy instance has an address that this machine can use.
    #[error("none of {count} has an address that can be used here")]
    NoUsableAddress {
        /// How many there are.
        count: usize,
    },
    /// A filter left none.
    #[error("the filter `{filter}` left none of {count}")]
    Filtered {
        /// What the filter calls itself.
        filter: String,
        /// How many there were before it.
        count: usize,
    },
    /// Instances take requests, but none of those that the request is routed to by a rule, nor of those that the rule names
    /// instead.
    #[error("none of {count} is of {label}, {}", asked_by(.rule.as_deref()))]
    RouteMiss {
        /// The rule; `None` if none applied, so that the request goes to the baseline.
        rule: Option<String>,
        /// What the instances should be of: metadata such as `version=v2`, or `the baseline`.
        label: String,
        /// How many instances take requests.
        count: usize,
    },
    /// The request was sent to every one already.
    #[error("all {count} were tried")]
    AllTried {
        /// How many there are.
        count: usize,
    },
    /// Those that could serve the request failed, and are ejected until a probe of them succeeds. A request for TLS meets
    /// this where few instances speak it; of all instances some are always left.
    #[error("all that could serve it are ejected")]
    AllEjected,
    /// Nobody has kept the list up to date for longer than is allowed.
    #[error("the list has not been kept up to date for {age:?}")]
    Stale {
        /// For how long.
        age: Duration,
    },
    /// The registry's client is shut down.
    #[error("discovery is shut down")]
    Closed,
}

fn asked_by(rule: Option<&str>) -> String {
    rule.map_or_else(|| "as no rule applies".to_owned(), |rule| format!("as the rule `{rule}` asks for"))
}
