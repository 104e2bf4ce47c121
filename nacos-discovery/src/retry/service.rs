use std::error::Error;
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

    fn call(&mut self, mut request: Request<B>) -> RetryNextFuture<S, B> {
        // Somebody above repeats it: two layers of two attempts would make four.
        let repeated_above = request.extensions().get::<Attempt>().is_some();
        let scope = self.layer.scope(&request);
        self.layer.propagate(&mut request, &scope);
        if repeated_above || scope.settings().attempts() == 1 {
            return RetryNextFuture::once(self.inner.call(request.map(ReplayBody::once)));
        }
        // The clone is not ready, but is asked before it is used.
        let (course, request) = Course::begin(self.inner.clone(), request, scope);
        RetryNextFuture::repeating(self.inner.call(request), course)
    }
}
