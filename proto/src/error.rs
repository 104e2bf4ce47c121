use std::fmt;

/// A payload body that is not the expected message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The body is the JSON value `null`.
    #[error("the body is null")]
    Null,
    /// The body is not JSON, not an object, or has a field of an impossible type.
    #[error("the body is no {expected}")]
    Malformed {
        /// Name of the expected message.
        expected: &'static str,
        /// What the parser said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl DecodeError {
    pub(crate) fn malformed(
        expected: &'static str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Malformed { expected, source: source.into() }
    }
}

/// A refusal by the peer: what any response says when its `resultCode` is not 200.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// `resultCode` as sent.
    pub result_code: i32,
    /// `errorCode` as sent; may be 0 in a failure.
    pub error_code: i32,
    /// Text for humans; empty when the peer sent none. Never compare it.
    pub message: String,
    /// True when the failure came as the response type that belongs to the request, false for `ErrorResponse`.
    pub typed: bool,
}

impl Failure {
    /// The code that tells the cause: `errorCode`, or `resultCode` where that is 0.
    pub fn code(&self) -> i32 {
        if self.error_code == 0 { self.result_code } else { self.error_code }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "code {}", self.code())?;
        if !self.message.is_empty() {
            write!(f, ": {}", self.message.trim_end())?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

/// Why a response is not the success that was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResponseError {
    /// The peer refused.
    #[error("the peer refused")]
    Refused(#[source] Failure),
    /// The payload is of another type.
    #[error("expected {expected}, received {received:?}")]
    WrongType {
        /// The response type that belongs to the request.
        expected: &'static str,
        /// The type named in the payload.
        received: String,
    },
    /// The payload's body could not be read.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}
