use std::error::Error;
#[cfg(any(feature = "hyper", feature = "reqwest"))]
use std::future::poll_fn;
use std::mem;
use std::task::{Context, Poll};

use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::course::Course;
use super::{Attempt, ReplayBody, RetryNextFuture, RetryNextLayer};
use crate::BalanceError;

/// An HTTP client that repeats failed calls on the next instance. Made by [`RetryNextLayer`].
#[derive(Debug, Clone)]
pub struct RetryNext<S> {
    inner: S,
    layer: RetryNextLayer,
}

impl<S> RetryNext<S> {
    pub(super) const fn new(inner: S, layer: RetryNextLayer) -> Self {
        Self { inner, layer }
    }

    /// Sends a request through a clone of the client once that is ready. Its repetitions need no other clone.
    #[cfg(any(feature = "hyper", feature = "reqwest"))]
    pub(crate) async fn send<B, R>(&self, request: Request<B>) -> Result<Response<R>, BalanceError>
    where
        B: Body,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
        S: Service<Request<ReplayBody<B>>, Response = Response<R>> + Clone,
        S::Error: Into<Box<dyn Error + Send + Sync>>,
        R: Body + Send + 'static,
    {
        let mut client = self.inner.clone();
        poll_fn(|cx| client.poll_ready(cx)).await.map_err(|error| BalanceError::of(error.into()))?;
        begin(&self.layer, client, request).await
    }
}

impl<S, B, R> Service<Request<B>> for RetryNext<S>
where
    B: Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    S: Service<Request<ReplayBody<B>>, Response = Response<R>> + Clone,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    R: Body + Send + 'static,
{
    type Response = Response<R>;
    type Error = BalanceError;
    type Future = RetryNextFuture<S, B>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BalanceError>> {
        self.inner.poll_ready(cx).map_err(|error| BalanceError::of(error.into()))
    }

    fn call(&mut self, request: Request<B>) -> RetryNextFuture<S, B> {
        // What stays is a clone, which is asked whether it is ready before it is used.
        let clone = self.inner.clone();
        begin(&self.layer, mem::replace(&mut self.inner, clone), request)
    }
}

/// Sends a request through a client that is ready.
fn begin<S, B, R>(layer: &RetryNextLayer, mut client: S, mut request: Request<B>) -> RetryNextFuture<S, B>
where
    B: Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    S: Service<Request<ReplayBody<B>>, Response = Response<R>>,
{
    // Somebody above repeats it: two layers of two attempts would make four.
    let repeated_above = request.extensions().get::<Attempt>().is_some();
    let scope = layer.scope(&request);
    layer.propagate(&mut request, &scope);
    if repeated_above || scope.settings().attempts() == 1 {
        return RetryNextFuture::once(client.call(request.map(ReplayBody::once)));
    }
    let (course, future) = Course::begin(client, request, scope);
    RetryNextFuture::repeating(future, course)
}
