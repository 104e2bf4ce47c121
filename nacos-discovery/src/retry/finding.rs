use std::time::SystemTime;

use http::{HeaderMap, Response, StatusCode};

use super::rules::Finding;
use crate::BalanceError;
use crate::balance::{is_grpc, retry_after};
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
    is_grpc(headers) && headers.get("grpc-status").is_some_and(|status| status.as_bytes() == b"14")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_judge_of_instances_takes_for_grpc_is_unavailable_by_its_status() {
        for (content, is) in [
            ("application/grpc", true),
            ("application/grpc+proto", true),
            ("application/grpc;charset=utf-8", true),
            ("application/grpc-web", false),
            ("application/grpc-web-text+proto", false),
            ("application/grpcx", false),
        ] {
            let response = Response::builder().header("content-type", content).header("grpc-status", "14").body(());
            let finding = of(&Ok(response.unwrap()));
            assert_eq!(matches!(finding, Finding::GrpcUnavailable), is, "{content}: {finding:?}");
        }
    }
}
