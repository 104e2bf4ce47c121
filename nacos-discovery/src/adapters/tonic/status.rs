//! What stubs are told of errors.

use std::error::Error;
use std::sync::Arc;

use ::tonic::{Code, Status};
use h2::Reason;

use crate::adapters::errors::is_own_reset;
use crate::causes::causes;
use crate::{BadTarget, BalanceError, DiscoveryError, TransportFailure};

/// The status of a call that no instance answered. Its source is the error.
pub(super) fn of_call(error: BalanceError) -> Status {
    let mut status = match &error {
        BalanceError::Inner { failure: TransportFailure::Broken, source, .. } => {
            told(&**source).unwrap_or_else(|| Status::new(broken(&**source), message(&error)))
        }
        _ => Status::new(code(&error), error.to_string()),
    };
    status.set_source(Arc::new(error));
    status
}

/// The status of a call whose answer broke off. Its source is the error.
pub(super) fn of_answer(error: Box<dyn Error + Send + Sync>) -> Status {
    let mut status =
        told(&*error).unwrap_or_else(|| Status::new(broken(&*error), "the answer of the instance broke off"));
    status.set_source(Arc::from(error));
    status
}

/// The status of a call that has no more time.
pub(super) fn deadline_exceeded() -> Status {
    Status::deadline_exceeded("the deadline of the call has passed")
}

fn code(error: &BalanceError) -> Code {
    match error {
        BalanceError::Discovery(DiscoveryError::Invalid(_)) => Code::InvalidArgument,
        BalanceError::BadTarget(BadTarget::NotSecure { .. })
        | BalanceError::NoInstance(_)
        | BalanceError::Discovery(_) => Code::Unavailable,
        BalanceError::BadTarget(_) => Code::InvalidArgument,
        BalanceError::Inner { failure: TransportFailure::Timeout, .. } => Code::DeadlineExceeded,
        BalanceError::Inner { .. } => Code::Unavailable,
    }
}

fn message(error: &BalanceError) -> String {
    if causes(error).any(is_own_reset) {
        return String::from("a message could not be sent: it cannot be encoded, or is larger than the stub allows");
    }
    error.to_string()
}

/// The same status as one among the causes, such as that of the caller's own messages.
fn told(error: &(dyn Error + 'static)) -> Option<Status> {
    let status = causes(error).find_map(|error| error.downcast_ref::<Status>())?;
    let (details, metadata) = (status.details().to_vec().into(), status.metadata().clone());
    Some(Status::with_details_and_metadata(status.code(), status.message(), details, metadata))
}

/// What gRPC makes of a stream that was reset; `UNAVAILABLE` of a connection that broke.
fn broken(error: &(dyn Error + 'static)) -> Code {
    let reset = causes(error).find_map(|error| error.downcast_ref::<h2::Error>()).filter(|error| error.is_reset());
    match reset.and_then(h2::Error::reason) {
        None | Some(Reason::REFUSED_STREAM) => Code::Unavailable,
        Some(Reason::CANCEL) => Code::Cancelled,
        Some(Reason::ENHANCE_YOUR_CALM) => Code::ResourceExhausted,
        Some(Reason::INADEQUATE_SECURITY) => Code::PermissionDenied,
        Some(_) => Code::Internal,
    }
}
