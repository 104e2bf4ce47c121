use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, Version};
use hyper::body::Incoming;
use nacos_discovery::Tracked;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::client::Client;
use super::tunnel::Tunnel;
use super::{Refusal, hop_by_hop};

type Asked = <Client as Service<Request>>::Future;

pin_project! {
    /// The answer of [`super::Gateway`]. Dropping it is the caller giving up.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct Forwarding {
        #[pin]
        state: State,
    }
}

pin_project! {
    #[project = StateProjection]
    #[derive(Debug)]
    enum State {
        Asking { #[pin] asked: Asked, tunnel: Option<Tunnel> },
        Refused { refusal: Option<Refusal> },
    }
}

impl Forwarding {
    pub(super) const fn asking(asked: Asked, tunnel: Option<Tunnel>) -> Self {
        Self { state: State::Asking { asked, tunnel } }
    }

    pub(super) const fn refused(refusal: Refusal) -> Self {
        Self { state: State::Refused { refusal: Some(refusal) } }
    }
}

impl Future for Forwarding {
    type Output = Result<Response, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let result = match self.project().state.project() {
            StateProjection::Asking { asked, tunnel } => {
                ready!(asked.poll(cx)).map_err(Refusal::from).and_then(|response| handed_on(response, tunnel.take()))
            }
            StateProjection::Refused { refusal } => {
                Err(refusal.take().expect("a future is not polled after it is ready"))
            }
        };
        Poll::Ready(Ok(result.unwrap_or_else(Refusal::into_response)))
    }
}

/// What the caller gets of the answer of an instance.
fn handed_on(mut response: Response<Tracked<Incoming>>, tunnel: Option<Tunnel>) -> Result<Response, Refusal> {
    let is_switched = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    let tunnel = tunnel.filter(|_| is_switched && Tunnel::is_asked(response.headers()));
    hop_by_hop::strip(response.headers_mut());
    if is_switched {
        tunnel.ok_or(Refusal::Protocol)?.join(&mut response);
    }
    // The connection to the caller has a version of its own.
    *response.version_mut() = Version::default();
    Ok(response.map(Body::new))
}
