use std::error::Error;
use std::io;

use tokio::time::error::Elapsed;

use crate::TransportFailure;

/// What an error means, as far as it can be told without knowing the client, unless it is one of those that are known here.
pub(super) fn failure(error: &(dyn Error + 'static)) -> Option<TransportFailure> {
    if error.is::<Elapsed>() {
        return Some(TransportFailure::Timeout);
    }
    #[cfg(any(feature = "hyper", feature = "reqwest"))]
    if let Some(failure) = crate::adapters::failure(error) {
        return Some(failure);
    }
    match error.downcast_ref::<io::Error>()?.kind() {
        // Only these two cannot come from a connection that was there: an unreachable network or host may be told of one
        // on which bytes were sent.
        io::ErrorKind::ConnectionRefused | io::ErrorKind::AddrNotAvailable => Some(TransportFailure::Connect),
        io::ErrorKind::TimedOut => Some(TransportFailure::Timeout),
        // It wraps something that may say more.
        io::ErrorKind::Other => None,
        _ => Some(TransportFailure::Broken),
    }
}

/// Whether this error is one that the caller made, where the client is known.
pub(super) fn is_of_caller(error: &(dyn Error + 'static)) -> bool {
    #[cfg(any(feature = "hyper", feature = "reqwest"))]
    return crate::adapters::is_of_caller(error);
    #[cfg(not(any(feature = "hyper", feature = "reqwest")))]
    {
        let _ = error;
        false
    }
}
