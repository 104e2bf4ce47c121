//! Why an operator's call failed, and what to do.

use crate::auth::LoginError;
use crate::error::{InvalidArgument, ServerRefusal};

/// Why an operator's call failed. Each message ends with what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MaintainError {
    /// No server answered.
    #[error(
        "no server answered, {reason}; check the address, and that the port is that of HTTP (usually 8848, not 9848)"
    )]
    Unreachable {
        /// What happened with each.
        reason: String,
    },
    /// The server lets only known users do it, and this client has none.
    #[error("the server lets only known users do this; set username and password")]
    LoginNeeded(#[source] ServerRefusal),
    /// The user lacks the right to do it.
    #[error("the server does not let this user do this; ask its administrator for the right, or take another user")]
    Denied(#[source] ServerRefusal),
    /// There is no token.
    #[error("this client is not logged in")]
    Login(#[from] LoginError),
    /// There is no such service, instance or namespace.
    #[error("there is no {what}; look for it in the list, and at group, namespace and cluster")]
    NotFound {
        /// What there is not.
        what: String,
    },
    /// There is one already.
    #[error("there is already a {what}; change it, or take another name")]
    Exists {
        /// What there is.
        what: String,
    },
    /// The server refused it: the same call will be refused again.
    #[error("the server refused it; change what its answer names")]
    Refused(#[source] ServerRefusal),
    /// The server failed; the same call may succeed later.
    #[error("the server failed; try again, and look into its log")]
    Server(#[source] ServerRefusal),
    /// The server has no such call.
    #[error(
        "the server does not offer this call ({call}); it is too old, too new, has the interface switched off, or is reached by a wrong context path"
    )]
    Unsupported {
        /// Method and path.
        call: String,
    },
    /// The answer is none of a Nacos server.
    #[error("the answer is not that of a Nacos server ({0}); check address, port and context path")]
    Protocol(String),
    /// An argument is invalid: nothing was sent.
    #[error(transparent)]
    Invalid(#[from] InvalidArgument),
}

impl MaintainError {
    /// The error of a call for a list, which exists wherever the call does.
    pub(super) fn of_list(self, path: &str) -> Self {
        match self {
            Self::NotFound { .. } => Self::Unsupported { call: format!("GET {path}") },
            other => other,
        }
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Server(_) => true,
            Self::Login(error) => error.is_retryable(),
            _ => false,
        }
    }
}
