use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::Response;
use pin_project_lite::pin_project;

use super::current::{self, Within};
use super::{Propagated, ScopedBody};

pin_project! {
    /// A future that has the headers of a request as the current ones while it runs. Made by [`Propagated::scope`].
    ///
    /// It is as cancel safe as the future inside.
    #[must_use = "futures do nothing unless polled"]
    pub struct Scoped<F> {
        #[pin]
        inner: Within<F>,
    }
}

impl<F: Future> Scoped<F> {
    pub(super) fn new(propagated: Propagated, future: F) -> Self {
        Self { inner: current::around(propagated, future) }
    }
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.project().inner.poll(cx)
    }
}

impl<F> fmt::Debug for Scoped<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scoped").finish_non_exhaustive()
    }
}

pin_project! {
    /// The response of [`super::Incoming`].
    #[must_use = "futures do nothing unless polled"]
    pub struct IncomingFuture<F> {
        #[pin]
        inner: Scoped<F>,
        propagated: Propagated,
    }
}

impl<F: Future> IncomingFuture<F> {
    pub(super) fn new(propagated: Propagated, future: F) -> Self {
        Self { inner: Scoped::new(propagated.clone(), future), propagated }
    }
}

impl<F, B, E> Future for IncomingFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<ScopedBody<B>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let response = ready!(this.inner.poll(cx))?;
        Poll::Ready(Ok(response.map(|body| ScopedBody::new(body, this.propagated.clone()))))
    }
}

impl<F> fmt::Debug for IncomingFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IncomingFuture").field("propagated", &self.propagated).finish_non_exhaustive()
    }
}
