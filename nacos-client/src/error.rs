//! What can go wrong, one type per family of operations.
//!
//! A variant exists where a caller would act differently on it; `is_retryable` says whether trying the same again can
//! help. No message is meant to be compared. A text that came from outside is shortened between
//! characters, if at all.

use std::time::Duration;

use crate::auth::LoginError;
use crate::model::ServiceKey;

/// An argument or setting that is refused before anything is sent or recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid {field}: {reason}")]
#[non_exhaustive]
pub struct InvalidArgument {
    /// What is invalid: a setting, or a field of the service or instance.
    pub field: &'static str,
    /// Why.
    pub reason: String,
}

impl InvalidArgument {
    pub(crate) fn new(field: &'static str, reason: impl Into<String>) -> Self {
        Self { field, reason: reason.into() }
    }

    /// Never: the same argument stays invalid.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        false
    }
}

/// Why no client can be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// No server is named.
    #[error("no server is configured")]
    NoServers,
    /// A server entry cannot be read.
    #[error("invalid server {entry:?}: {reason}")]
    Server {
        /// The entry as it was given.
        entry: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A setting is out of its range.
    #[error(transparent)]
    Setting(#[from] InvalidArgument),
    /// An environment variable holds no value of its kind.
    #[error("environment variable {name}: {reason}")]
    Environment {
        /// The variable.
        name: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

impl ConfigError {
    /// Never: the same settings stay wrong.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        false
    }
}

/// Why an operation cannot begin at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The client connects at its first use, and that was outside a tokio runtime.
    #[error("no tokio runtime in this context")]
    NoRuntime,
    /// The client is shut down.
    #[error("the client is shut down")]
    Closed,
}

impl StartError {
    /// Never by the same call in the same place.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        false
    }
}

/// Why a registration was not recorded: there is no wish.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// The service or the instance is invalid.
    #[error(transparent)]
    Invalid(#[from] InvalidArgument),
    /// The client cannot run.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The registration was withdrawn or replaced by another one of the same address and cluster.
    #[error("the registration is withdrawn")]
    Withdrawn,
}

impl RegisterError {
    /// Never: the same call stays wrong.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        false
    }
}

/// A server's refusal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("code {code}: {message}")]
#[non_exhaustive]
pub struct ServerRefusal {
    /// The code of the protocol: 400 bad parameter, 403 no right, 500 fault of the server, 503 overloaded …
    pub code: i32,
    /// The server's text; a denial says what to do, too, if the client has no user to log in with. Not to be compared.
    pub message: String,
}

/// Why a registration or deregistration is not acknowledged. The wish stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfirmError {
    /// No acknowledgement in time; the client keeps trying.
    #[error("not acknowledged within {waited:?}{}", last_error.as_ref().map(|e| format!(", last error: {e}")).unwrap_or_default())]
    Deadline {
        /// How long the caller waited.
        waited: Duration,
        /// What the last attempt failed with, as text for people.
        last_error: Option<String>,
    },
    /// The server refused it; it is tried again after a change or 30 s.
    #[error("refused by the server")]
    Refused(#[source] ServerRefusal),
    /// The server denied the right to do it, also with a new token if the client logs in; tried again after a change, a new
    /// login or 30 s.
    #[error("denied by the server")]
    Denied(#[source] ServerRefusal),
    /// The servers refuse the login; tried again when a login succeeds.
    #[error("the client is not logged in")]
    Login(#[source] LoginError),
    /// The server cannot do it.
    #[error("the server is too old, {needs} or later is needed")]
    Unsupported {
        /// First server version that can.
        needs: &'static str,
    },
    /// The registration was withdrawn or replaced.
    #[error("the registration is withdrawn")]
    Withdrawn,
    /// The client cannot run.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The service or the instance is invalid: nothing was recorded.
    #[error(transparent)]
    Invalid(#[from] InvalidArgument),
}

impl ConfirmError {
    /// Whether waiting again can help.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Deadline { .. })
    }
}

impl From<RegisterError> for ConfirmError {
    fn from(error: RegisterError) -> Self {
        match error {
            RegisterError::Invalid(e) => Self::Invalid(e),
            RegisterError::Start(e) => Self::Start(e),
            RegisterError::Withdrawn => Self::Withdrawn,
        }
    }
}

/// Why something could not be read from the registry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// No connection came up in time.
    #[error("not connected within {waited:?}{}", last_error.as_ref().map(|e| format!(", last error: {e}")).unwrap_or_default())]
    NotConnected {
        /// How long the caller waited.
        waited: Duration,
        /// What the last attempt to connect failed with, as text for people.
        last_error: Option<String>,
    },
    /// No answer in time.
    #[error("no answer within {waited:?}")]
    Deadline {
        /// How long the caller waited.
        waited: Duration,
    },
    /// The server refused the request: asking the same again gives the same.
    #[error("refused by the server")]
    Refused(#[source] ServerRefusal),
    /// The server denied the right to ask, also with a new token if the client logs in.
    #[error("denied by the server")]
    Denied(#[source] ServerRefusal),
    /// There is no token to ask with: the login is refused, or did not succeed in time.
    #[error("the client is not logged in")]
    Login(#[source] LoginError),
    /// The server failed, and went on failing until the deadline.
    #[error("the server failed")]
    Server(#[source] ServerRefusal),
    /// The server cannot do it.
    #[error("the server is too old, {needs} or later is needed")]
    Unsupported {
        /// First server version that can.
        needs: &'static str,
    },
    /// The answer is no message of the protocol.
    #[error("unreadable answer: {0}")]
    Protocol(String),
    /// An argument is invalid: nothing was sent.
    #[error(transparent)]
    Invalid(#[from] InvalidArgument),
    /// The client cannot run.
    #[error(transparent)]
    Start(#[from] StartError),
}

impl QueryError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::NotConnected { .. } | Self::Deadline { .. } | Self::Server(_) => true,
            Self::Login(error) => error.is_retryable(),
            _ => false,
        }
    }
}

/// Why no instance was picked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PickError {
    /// The list has not arrived yet; it is asked for. Wait with `ready`.
    #[error("no list of {0} has arrived yet")]
    NotReady(ServiceKey),
    /// The list has no usable instance.
    #[error(
        "{service} has no usable instance: {total} listed, {healthy} healthy, {enabled} enabled, {positive_weight} with a weight above 0"
    )]
    NoInstance {
        /// The service.
        service: ServiceKey,
        /// Instances in the list, or in the clusters asked for.
        total: usize,
        /// Of them healthy.
        healthy: usize,
        /// Of them enabled.
        enabled: usize,
        /// Of them with a weight that is a number above 0.
        positive_weight: usize,
    },
    /// The name is invalid.
    #[error(transparent)]
    Invalid(#[from] InvalidArgument),
    /// The client cannot run.
    #[error(transparent)]
    Start(#[from] StartError),
}

impl PickError {
    /// Whether a pick may succeed later without anything done.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::NotReady(_) | Self::NoInstance { .. })
    }
}

/// An error with all its causes, on one line.
pub(crate) fn describe(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // Some causes repeat what was said already.
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::error::Error;

    fn all(text: &str) -> Vec<Box<dyn Error + Send + Sync + 'static>> {
        let refusal = || ServerRefusal { code: 400, message: text.to_owned() };
        let waited = Duration::from_secs(3);
        let invalid = || InvalidArgument::new("field", text);
        vec![
            Box::new(ConfigError::Server { entry: text.to_owned(), reason: text.to_owned() }),
            Box::new(ConfigError::Environment { name: "NACOS_X", reason: text.to_owned() }),
            Box::new(RegisterError::Invalid(invalid())),
            Box::new(ConfirmError::Deadline { waited, last_error: Some(text.to_owned()) }),
            Box::new(ConfirmError::Refused(refusal())),
            Box::new(QueryError::NotConnected { waited, last_error: Some(text.to_owned()) }),
            Box::new(QueryError::Server(refusal())),
            Box::new(QueryError::Protocol(text.to_owned())),
            Box::new(PickError::NotReady(ServiceKey::new(text, text))),
        ]
    }

    proptest! {
        #[test]
        fn c01_every_error_can_be_shown_with_any_text(text in "\\PC{0,100}|.{0,100}") {
            for error in all(&text) {
                let shown = format!("{error} {error:?}");
                prop_assert!(!shown.is_empty());
                // A message never repeats its source.
                if let Some(source) = error.source() {
                    prop_assert!(!error.to_string().contains(&source.to_string()));
                }
            }
        }
    }

    #[test]
    fn cg57_retryable_agrees_with_the_kind() {
        let refusal = ServerRefusal { code: 400, message: String::new() };
        assert!(!ConfirmError::Refused(refusal.clone()).is_retryable());
        assert!(!QueryError::Refused(refusal.clone()).is_retryable());
        assert!(QueryError::Server(refusal).is_retryable());
        assert!(!PickError::Start(StartError::Closed).is_retryable());
        assert!(PickError::NotReady(ServiceKey::new("g", "s")).is_retryable());
    }
}
