//! Why a call about one service failed, in a form that can be kept and shown.

use std::time::Duration;

use nacos_proto::code;
use tokio::time::Instant;

use crate::auth::LoginError;
use crate::error::{ConfirmError, QueryError, ServerRefusal, describe};
use crate::log_limit::LogLimit;
use crate::model::ServiceKey;
use crate::transport::{CallClass, CallError};

/// A failed call, the connection's end excepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Trying again soon may help.
    Failing(ServerRefusal),
    Refused(ServerRefusal),
    Denied(ServerRefusal),
    Unsupported(&'static str),
    Unreadable(String),
    /// There is no token.
    Login(Box<LoginError>),
    /// No server answered, which does not end the epoch; the text says why.
    Unreachable(String),
    /// An answer beyond the client's own limit.
    Oversized(String),
}

/// First server version that knows every message this client sends.
const NEEDS_UNKNOWN: &str = "2.3.0";

impl Trouble {
    /// `None` for the end of the connection, which is nobody's fault in particular.
    pub(crate) fn of(error: CallError) -> Option<Self> {
        let class = error.class();
        Some(match error {
            CallError::Link(_) => return None,
            CallError::Unreachable(ref error) => Self::Unreachable(describe(error)),
            CallError::Login(error) => Self::Login(Box::new(error)),
            CallError::Decode(text) => Self::Unreadable(text),
            CallError::Oversized { .. } => Self::Oversized(error.to_string()),
            CallError::Unsupported { needs } => Self::Unsupported(needs),
            CallError::Refused(refusal) => {
                let said = ServerRefusal { code: refusal.code, message: refusal.message };
                match class {
                    CallClass::Unauthorized => Self::Denied(said),
                    CallClass::Final => Self::Refused(said),
                    CallClass::Unsupported => Self::Unsupported(NEEDS_UNKNOWN),
                    CallClass::Transient | CallClass::EpochOver => Self::Failing(said),
                }
            }
        })
    }

    /// Whether trying again soon is of no use.
    pub(crate) const fn is_final(&self) -> bool {
        match self {
            Self::Refused(_) | Self::Denied(_) | Self::Unsupported(_) | Self::Oversized(_) => true,
            Self::Login(error) => !error.is_retryable(),
            Self::Failing(_) | Self::Unreadable(_) | Self::Unreachable(_) => false,
        }
    }

    /// Whether a login may cure it: there was no token to make the call with, or the newest one did not give the right to it, and the next may be
    /// another user's.
    pub(crate) const fn awaits_login(&self) -> bool {
        matches!(self, Self::Login(_) | Self::Denied(_))
    }

    /// What was said to a registration that need not be tried again soon.
    pub(crate) fn refusal(&self) -> Option<ServerRefusal> {
        match self {
            Self::Refused(said) | Self::Denied(said) => Some(said.clone()),
            Self::Login(error) if !error.is_retryable() => {
                Some(ServerRefusal { code: code::NO_RIGHT, message: error.to_string() })
            }
            _ => None,
        }
    }

    /// The error of a question that was asked for `waited`.
    pub(crate) fn into_query_error(self, waited: Duration) -> QueryError {
        match self {
            Self::Failing(refusal) => QueryError::Server(refusal),
            Self::Refused(refusal) => QueryError::Refused(refusal),
            Self::Denied(refusal) => QueryError::Denied(refusal),
            Self::Login(error) => QueryError::Login(*error),
            Self::Unsupported(needs) => QueryError::Unsupported { needs },
            Self::Unreadable(text) | Self::Oversized(text) => QueryError::Protocol(text),
            Self::Unreachable(text) => QueryError::NotConnected { waited, last_error: Some(text) },
        }
    }

    /// The error of a confirmation that need not wait any longer; `None` while trying goes on.
    pub(crate) fn confirm_error(&self) -> Option<ConfirmError> {
        match self {
            Self::Refused(refusal) => Some(ConfirmError::Refused(refusal.clone())),
            Self::Denied(refusal) => Some(ConfirmError::Denied(refusal.clone())),
            Self::Unsupported(needs) => Some(ConfirmError::Unsupported { needs }),
            Self::Login(error) if !error.is_retryable() => Some(ConfirmError::Login(LoginError::clone(error))),
            Self::Failing(_) | Self::Login(_) | Self::Unreadable(_) | Self::Oversized(_) | Self::Unreachable(_) => None,
        }
    }

    #[cfg(test)]
    pub(crate) fn for_test(code: i32) -> Self {
        let refusal = ServerRefusal { code, message: "test".to_owned() };
        if code == 400 { Self::Refused(refusal) } else { Self::Failing(refusal) }
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failing(r) | Self::Refused(r) | Self::Denied(r) => r.fmt(f),
            Self::Login(error) => error.fmt(f),
            Self::Unsupported(needs) => write!(f, "the server is too old, {needs} or later is needed"),
            Self::Unreadable(text) => write!(f, "unreadable answer: {text}"),
            Self::Unreachable(text) => write!(f, "no server answered: {text}"),
            Self::Oversized(text) => f.write_str(text),
        }
    }
}

/// Writes that a call about `service` failed, as a warning now and then.
pub(crate) fn tell_failure(log: &LogLimit, what: &str, service: &ServiceKey, error: &CallError, now: Instant) {
    // The transport tells of lost connections, and the login of itself.
    if matches!(error, CallError::Link(_) | CallError::Login(_)) {
        return;
    }
    let error = describe(error);
    match log.pass(now) {
        Some(left_out) => tracing::warn!(%service, %error, lines_left_out = left_out, "{what}, trying on"),
        None => tracing::debug!(%service, %error, "{what}"),
    }
}
