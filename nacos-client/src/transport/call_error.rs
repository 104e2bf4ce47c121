//! Why a call did not succeed, and what kind of reaction that asks for.

use nacos_proto::code;

use super::LinkError;
use crate::auth::LoginError;

/// The failure of one [`Call`](super::Call).
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum CallError {
    /// The connection ended before the answer came: whether the server acted on the call is unknown.
    #[error("the connection was lost")]
    Link(#[source] LinkError),
    /// No server could be reached, or none answered, which does not end the epoch: whether one acted on the call is unknown.
    #[error("no server answered")]
    Unreachable(#[source] LinkError),
    /// The server answered and said no.
    #[error("the server refused: {0}")]
    Refused(Refusal),
    /// There is no token to make the call with.
    #[error(transparent)]
    Login(LoginError),
    /// The answer is no message of the protocol.
    #[error("the answer cannot be read: {0}")]
    Decode(String),
    /// The answer is larger than this client takes.
    #[error(
        "a message of {size} bytes is above `max_message_size`: raise it, or have fewer instances or less metadata in a service"
    )]
    Oversized {
        /// Of the answer, in bytes.
        size: u32,
    },
    /// The server knows no such request.
    #[error("the server is too old, {needs} or later is needed")]
    Unsupported {
        /// First server version that can do it.
        needs: &'static str,
    },
}

/// A negative answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("code {code}: {message}")]
pub(crate) struct Refusal {
    /// Code in the vocabulary of [`nacos_proto::code`].
    pub(crate) code: i32,
    /// The server's text, possibly empty. Never to be compared.
    pub(crate) message: String,
    /// How the refusal was expressed.
    pub(crate) shape: RefusalShape,
}

/// How a server expressed a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefusalShape {
    /// The answer type of the request, with a failure code in it.
    Typed,
    /// The protocol's general error answer.
    General,
    /// A status of the layer below (gRPC status, HTTP status).
    Status,
}

/// What a caller does about a [`CallError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallClass {
    /// Nothing more on this connection; the next epoch tries again.
    EpochOver,
    /// This call alone is tried again after a back-off: 300, 500, 503, anything unknown.
    Transient,
    /// The server will not change its mind: 400, 404, 409 and other 4xx, 502, an unreadable answer.
    Final,
    /// Only other rights can cure it: 403, also after a login, or a refused login.
    Unauthorized,
    /// The server lacks the feature: 302.
    Unsupported,
}

impl CallError {
    /// Whether the server denied the right to do it, so that a login may cure it.
    pub(crate) fn is_denial(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.code == code::NO_RIGHT)
    }

    /// A denial to a client that does not log in says what to do about it.
    pub(crate) fn without_login(mut self) -> Self {
        if let Self::Refused(refusal) = &mut self
            && refusal.code == code::NO_RIGHT
        {
            refusal.message.push_str("; the server lets only known users in: set username and password");
        }
        self
    }

    /// The reaction this error asks for.
    pub(crate) fn class(&self) -> CallClass {
        match self {
            Self::Link(_) => CallClass::EpochOver,
            Self::Unreachable(_) => CallClass::Transient,
            Self::Login(error) if error.is_retryable() => CallClass::Transient,
            Self::Login(_) => CallClass::Unauthorized,
            Self::Decode(_) | Self::Oversized { .. } => CallClass::Final,
            Self::Unsupported { .. } => CallClass::Unsupported,
            Self::Refused(refusal) => match refusal.code {
                code::NO_RIGHT => CallClass::Unauthorized,
                code::NO_HANDLER => CallClass::Unsupported,
                code::BAD_GATEWAY | 400..=499 => CallClass::Final,
                _ => CallClass::Transient,
            },
        }
    }
}
