use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::reqwest::{Body, Client, Error, Request};
use http::Response;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::to_http;

type Sending = <Client as Service<Request>>::Future;

pin_project! {
    /// The response to a request of [`super::ReqwestService`]. Dropping it gives the request up.
    #[must_use = "futures do nothing unless polled"]
    pub struct ReqwestFuture {
        #[pin]
        state: State,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State {
        Sending { #[pin] response: Sending },
        Refused { error: Option<Error> },
    }
}

impl ReqwestFuture {
    pub(super) fn new(sent: Result<Sending, Error>) -> Self {
        let state = match sent {
            Ok(response) => State::Sending { response },
            Err(error) => State::Refused { error: Some(error) },
        };
        Self { state }
    }
}

impl Future for ReqwestFuture {
    type Output = Result<Response<Body>, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProjection::Sending { response } => Poll::Ready(ready!(response.poll(cx)).map(to_http)),
            StateProjection::Refused { error } => {
                Poll::Ready(Err(error.take().expect("a future is not polled after it is ready")))
            }
        }
    }
}

impl fmt::Debug for ReqwestFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReqwestFuture").finish_non_exhaustive()
    }
}
