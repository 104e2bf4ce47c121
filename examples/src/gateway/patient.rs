use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::Request;
use http_body::Body;
use pin_project_lite::pin_project;
use tokio::sync::oneshot;
use tokio::time::{Sleep, sleep};
use tower_service::Service;

use super::sent::Sent;
use crate::Error;

/// Gives an instance some time for the head of its answer, from when the request has been sent. It belongs below the
/// balancer, which so learns of it: a time limit above says nothing of the instance.
#[derive(Debug, Clone)]
pub(super) struct Patient<S> {
    inner: S,
    limit: Duration,
}

impl<S> Patient<S> {
    pub(super) const fn new(inner: S, limit: Duration) -> Self {
        Self { inner, limit }
    }
}

impl<S, B> Service<Request<B>> for Patient<S>
where
    S: Service<Request<Sent<B>>, Error: Into<Error>>,
    B: Body,
{
    type Response = S::Response;
    type Error = Error;
    type Future = PatientFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> PatientFuture<S::Future> {
        let (head, body) = request.into_parts();
        let (body, sent) = Sent::new(body);
        let answer = self.inner.call(Request::from_parts(head, body));
        PatientFuture { answer, sent, limit: self.limit, waiting: None }
    }
}

pin_project! {
    pub(super) struct PatientFuture<F> {
        #[pin]
        answer: F,
        // `None` once the request has been sent.
        sent: Option<oneshot::Receiver<()>>,
        limit: Duration,
        #[pin]
        waiting: Option<Sleep>,
    }
}

impl<F, R, E> Future for PatientFuture<F>
where
    F: Future<Output = Result<R, E>>,
    E: Into<Error>,
{
    type Output = Result<R, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Poll::Ready(answer) = this.answer.poll(cx) {
            return Poll::Ready(answer.map_err(Into::into));
        }
        if let Some(sent) = this.sent {
            let _ = ready!(Pin::new(sent).poll(cx));
            *this.sent = None;
        }
        if this.waiting.is_none() {
            this.waiting.set(Some(sleep(*this.limit)));
        }
        let waiting = this.waiting.as_pin_mut().expect("it was set just now");
        ready!(waiting.poll(cx));
        Poll::Ready(Err(io::Error::from(io::ErrorKind::TimedOut).into()))
    }
}
