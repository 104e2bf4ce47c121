use std::error::Error;
use std::fmt;

use http::{HeaderMap, StatusCode};

use super::Reply;
use crate::TransportFailure;

/// Knows more of the client below, or of the services, than the layer does by itself. Given to
/// [`crate::BalanceLayer::classify`]; what it returns `None` for is judged by the next one, and at last by the layer.
///
/// The layer itself takes a refused connection for [`TransportFailure::Connect`], and with the features `hyper` and `reqwest`
/// whatever these clients say of connecting; an elapsed time of tokio, reqwest or the operating system for
/// [`TransportFailure::Timeout`]; and every other error, such as that of a timeout layer of tower, for
/// [`TransportFailure::Broken`], which no failure is treated worse than. Of answers it takes a status of
/// 500 and above for a failure, 429, and 503 with `Retry-After`, for overload, and of gRPC the status in header or trailers.
/// With the features `hyper` and `reqwest` it knows the errors of these clients as well.
pub trait Classify: fmt::Debug + Send + Sync + 'static {
    /// What an error of the client below means. Asked for the error and then for each of its sources, so that
    /// `downcast_ref` is all it takes.
    ///
    /// [`TransportFailure::Connect`] promises that no byte of the request was sent: any request may be sent again then,
    /// also one that must not be done twice.
    fn error(&self, error: &(dyn Error + 'static)) -> Option<TransportFailure> {
        let _ = error;
        None
    }

    /// What the head of an answer means.
    fn reply(&self, status: StatusCode, headers: &HeaderMap) -> Option<Reply> {
        let _ = (status, headers);
        None
    }
}
