use std::error::Error;
use std::io;
use std::time::Duration;

use http::StatusCode;

use crate::{Outcome, TransportFailure};

/// What a response's head says of how the call went.
pub(super) fn of_status(status: StatusCode, latency: Duration) -> Outcome {
    if status == StatusCode::TOO_MANY_REQUESTS {
        Outcome::Overloaded { retry_after: None }
    } else if status.is_server_error() {
        Outcome::ServerFailure { latency }
    } else {
        Outcome::Success { latency }
    }
}

/// What an error of the client below says.
pub(super) fn of_error(error: &(dyn Error + 'static)) -> Outcome {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return Outcome::Transport(match io.kind() {
                io::ErrorKind::ConnectionRefused => TransportFailure::Connect,
                io::ErrorKind::TimedOut => TransportFailure::Timeout,
                _ => TransportFailure::Broken,
            });
        }
        cause = error.source();
    }
    Outcome::Transport(TransportFailure::Broken)
}
