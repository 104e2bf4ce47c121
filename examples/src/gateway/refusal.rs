use std::error::Error;

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use nacos_discovery::BalanceError;

/// Why a request was not answered by an instance. What the caller reads names no address; the log does.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The path names no service.
    #[error("the path names no service: /{{service}}/… is expected")]
    NoService,
    /// What the path names cannot be the name of a service.
    #[error("the path begins with what is no name of a service")]
    BadName,
    /// The service is none of those that callers may reach.
    #[error("no service of this name is served here")]
    NotServed,
    /// The service is the gateway itself.
    #[error("the gateway does not call itself")]
    Itself,
    /// The instance changed the protocol without being asked to, or to another one.
    #[error("the instance speaks another protocol than was asked for")]
    Protocol,
    /// What the caller sent broke off, or cannot be read: none of the instance's doing.
    #[error("the body of the request broke off, or cannot be read")]
    BadBody(#[source] BalanceError),
    /// No instance took the request, or none answered.
    #[error("{}", words(.0))]
    Balance(#[source] BalanceError),
}

impl From<BalanceError> for Refusal {
    fn from(error: BalanceError) -> Self {
        if is_of_caller(&error) { Self::BadBody(error) } else { Self::Balance(error) }
    }
}

/// Whether hyper could not go on with what it was given to send.
fn is_of_caller(error: &BalanceError) -> bool {
    let causes = std::iter::successors(error.source(), |cause: &&(dyn Error + 'static)| (*cause).source());
    causes.filter_map(|cause| cause.downcast_ref()).any(hyper::Error::is_user)
}

fn words(error: &BalanceError) -> String {
    match error {
        BalanceError::NoInstance(error) => error.to_string(),
        BalanceError::Inner { .. } if error.status() == StatusCode::GATEWAY_TIMEOUT => "no answer in time".to_owned(),
        BalanceError::Inner { .. } => "the instance could not be reached, or broke off".to_owned(),
        _ if error.status() == StatusCode::BAD_REQUEST => "what was asked for cannot be sent to a service".to_owned(),
        _ => "the service cannot be discovered".to_owned(),
    }
}

impl Refusal {
    /// The status that the caller gets: 404 or 400 for a path that names no service that may be reached, 400 for a body that
    /// breaks off, 508 for the gateway itself, 503 if nobody takes the request, 504 if nobody answered in time, 502 if
    /// whoever was asked failed.
    pub const fn status(&self) -> StatusCode {
        match self {
            Self::NoService | Self::NotServed => StatusCode::NOT_FOUND,
            Self::Itself => StatusCode::LOOP_DETECTED,
            Self::BadName | Self::BadBody(_) => StatusCode::BAD_REQUEST,
            Self::Protocol => StatusCode::BAD_GATEWAY,
            Self::Balance(error) => error.status(),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        if let Self::Balance(error) | Self::BadBody(error) = &self {
            tracing::debug!(error = error as &dyn Error, "request refused");
        }
        (self.status(), format!("{self}\n")).into_response()
    }
}
