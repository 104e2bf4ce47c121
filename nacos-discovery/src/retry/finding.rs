use std::time::SystemTime;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, Response, StatusCode};

use super::rules::Finding;
use crate::BalanceError;
use crate::balance::retry_after;
use crate::causes::causes;

/// What an attempt that went to an instance ended with.
pub(super) fn of<R>(result: &Result<Response<R>, BalanceError>) -> Finding {
    match result {
        Ok(response) => of_head(response.status(), response.headers()),
        Err(error) => of_error(error),
    }
}

fn of_head(status: StatusCode, headers: &HeaderMap) -> Finding {
    if status == StatusCode::OK && is_unavailable(headers) {
        return Finding::GrpcUnavailable;
    }
    // Only here does anybody wait for it, and reading it needs the time of day.
    let limited = status == StatusCode::TOO_MANY_REQUESTS;
    let retry_after = if limited { retry_after(headers, SystemTime::now()) } else { None };
    Finding::Answered { status, retry_after }
}

/// Whether a gRPC answer is a status alone, `UNAVAILABLE`. It then stands in the header; behind a message, in the trailers.
fn is_unavailable(headers: &HeaderMap) -> bool {
    let grpc = headers.get(CONTENT_TYPE).is_some_and(|content| content.as_bytes().starts_with(b"application/grpc"));
    grpc && headers.get("grpc-status").is_some_and(|status| status.as_bytes() == b"14")
}

/// The balancer's word counts, also where layers between wrapped it. Of an error in which it has none, all that is known is
/// that the instance had been chosen.
fn of_error(error: &BalanceError) -> Finding {
    let mut finding = Finding::NotSent;
    for error in causes(error) {
        match error.downcast_ref::<BalanceError>() {
            Some(BalanceError::Inner { failure, .. }) => finding = Finding::Failed(*failure),
            Some(_) => return Finding::NotSent,
            None => {}
        }
    }
    finding
}
