use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::Request;
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};
use tower_service::Service;

use super::deadline::Deadline;

/// Ends calls whose `grpc-timeout` has passed before the head of an answer came. It belongs below a [`crate::BalanceLayer`], where it
/// counts against the instance that did not answer; [`super::TonicBalanced`] has it there already.
///
/// What is left of the time is what the instance is told.
#[derive(Debug, Clone)]
pub struct GrpcTimeout<S> {
    inner: S,
}

impl<S> GrpcTimeout<S> {
    /// Over this client.
    #[must_use]
    pub const fn new(inner: S) -> Self {
        Self { inner }
    }
}

impl<S, B> Service<Request<B>> for GrpcTimeout<S>
where
    S: Service<Request<B>, Error: Into<Box<dyn Error + Send + Sync>>>,
{
    type Response = S::Response;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = GrpcTimeoutFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let now = Instant::now();
        // That of the call as a whole, if somebody above knows it.
        let whole = request.extensions().get::<Deadline>().copied();
        let deadline = whole.or_else(|| Deadline::of(request.headers(), now));
        if let Some(deadline) = deadline {
            deadline.tell(request.headers_mut(), now);
        }
        GrpcTimeoutFuture { call: self.inner.call(request), limit: deadline.map(|deadline| sleep_until(deadline.0)) }
    }
}

pin_project! {
    /// The response of [`GrpcTimeout`]. Dropping it gives the call up.
    #[must_use = "futures do nothing unless polled"]
    pub struct GrpcTimeoutFuture<F> {
        #[pin]
        call: F,
        #[pin]
        limit: Option<Sleep>,
    }
}

impl<F, R, E> Future for GrpcTimeoutFuture<F>
where
    F: Future<Output = Result<R, E>>,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    type Output = Result<R, Box<dyn Error + Send + Sync>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(result) = this.call.poll(cx) {
            return Poll::Ready(result.map_err(Into::into));
        }
        let Some(limit) = this.limit.as_pin_mut() else { return Poll::Pending };
        // Of two timers for one instant either may wake the task. What counts is the time.
        if Instant::now() < limit.deadline() {
            ready!(limit.poll(cx));
        }
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the deadline of the call has passed").into()))
    }
}

impl<F> fmt::Debug for GrpcTimeoutFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrpcTimeoutFuture").finish_non_exhaustive()
    }
}
