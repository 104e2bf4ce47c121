//! What can go wrong with one exchange below the level of messages, and what it means above.

use std::sync::Arc;

use bytes::Bytes;
use nacos_proto::code;

use crate::transport::{CallError, LinkFault, Refusal, RefusalShape};

/// gRPC statuses that say the way to the server is broken.
const CANCELLED: u32 = 1;
const UNAVAILABLE: u32 = 14;
/// gRPC statuses that will not change when the request is sent again.
const INVALID_ARGUMENT: u32 = 3;
const RESOURCE_EXHAUSTED: u32 = 8;
const OUT_OF_RANGE: u32 = 11;
const UNIMPLEMENTED: u32 = 12;

/// The failure of one exchange.
#[derive(Debug)]
pub(super) enum RpcError {
    /// The HTTP/2 connection broke or is going away.
    Connection(h2::Error),
    /// The peer, or our own checks, ended this stream alone.
    Reset(h2::Reason),
    /// An HTTP status other than 200: a proxy, or no gRPC server.
    Http(u16),
    /// A gRPC status other than OK.
    Status {
        /// Its number.
        code: u32,
        /// Its text, percent-encoded as sent.
        message: String,
    },
    /// The answer holds no message that can be read.
    Unreadable(String),
    /// An answer or a push of this size, beyond the limit; its first bytes.
    Oversized {
        /// In bytes.
        size: u32,
        /// What is there of it.
        head: Bytes,
    },
    /// The request is larger than servers accept; nothing was sent.
    TooLarge,
}

impl From<h2::Error> for RpcError {
    fn from(error: h2::Error) -> Self {
        match error.reason() {
            Some(reason) if error.is_reset() => Self::Reset(reason),
            _ => Self::Connection(error),
        }
    }
}

impl RpcError {
    /// As the failure of a call; `Err` when it means the end of the connection instead.
    pub(super) fn into_call_error(self) -> Result<CallError, LinkFault> {
        let refused = |code, message| Ok(CallError::Refused(Refusal { code, message, shape: RefusalShape::Status }));
        match self {
            Self::Connection(error) => Err(transport_fault(error)),
            Self::Reset(reason) => refused(code::FAIL, format!("the stream was reset: {reason}")),
            Self::Http(status @ (502..=504)) => Err(http_fault(status)),
            Self::Http(status) => refused(code::FAIL, format!("HTTP status {status}")),
            Self::Status { code: CANCELLED | UNAVAILABLE, message } => {
                Err(LinkFault::Transport(Some(Arc::from(Box::<dyn std::error::Error + Send + Sync>::from(message)))))
            }
            Self::Status { code: UNIMPLEMENTED, message } => refused(code::NO_HANDLER, message),
            Self::Status { code: INVALID_ARGUMENT | RESOURCE_EXHAUSTED | OUT_OF_RANGE, message } => {
                refused(code::INVALID_PARAM, message)
            }
            Self::Status { message, .. } => refused(code::FAIL, message),
            Self::Unreadable(why) => Ok(CallError::Decode(why)),
            Self::Oversized { size, .. } => Ok(CallError::Oversized { size }),
            Self::TooLarge => refused(code::INVALID_PARAM, "the request is too large".to_owned()),
        }
    }

    /// As the failure of an attempt to connect.
    pub(super) fn into_setup_fault(self) -> LinkFault {
        let protocol = |text: String| LinkFault::Protocol(Arc::from(text));
        match self {
            Self::Connection(error) => transport_fault(error),
            Self::Reset(reason) => protocol(format!("the stream was reset: {reason}")),
            Self::Http(status) => http_fault(status),
            Self::Status { code, message } => protocol(format!("gRPC status {code}: {message}")),
            Self::Unreadable(why) => protocol(why),
            Self::Oversized { size, .. } => protocol(CallError::Oversized { size }.to_string()),
            Self::TooLarge => protocol("the set-up is too large".to_owned()),
        }
    }
}

pub(super) fn transport_fault(error: h2::Error) -> LinkFault {
    LinkFault::Transport(Some(Arc::new(error)))
}

fn http_fault(status: u16) -> LinkFault {
    LinkFault::Protocol(Arc::from(format!("HTTP status {status}")))
}
