use std::error::Error as StdError;
use std::fmt;

use ::reqwest_middleware::Error;

use crate::BalanceError;

/// What reqwest or a middleware below said. [`Error`] leaves its own cause out of the chain of sources; this has it in, so that it can be
/// judged.
#[derive(Debug)]
pub(super) struct RestError(pub(super) Error);

impl fmt::Display for RestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the client below the balancer failed")
    }
}

impl StdError for RestError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(match &self.0 {
            Error::Middleware(error) => &**error,
            Error::Reqwest(error) => error,
        })
    }
}

/// What the caller is told. An error from below the balancer is what it would be without one.
pub(super) fn told(error: BalanceError) -> Error {
    let BalanceError::Inner { failure, instance, host, source } = error else { return Error::middleware(error) };
    match source.downcast::<RestError>() {
        Ok(rest) => rest.0,
        Err(source) => Error::middleware(BalanceError::Inner { failure, instance, host, source }),
    }
}
