use std::task::{Context, Poll};

use http::{Request, Response};
use tower_layer::Layer;
use tower_service::Service;

use super::{IncomingFuture, Propagated, Propagation, ScopedBody, current};

/// Keeps the named headers of each request for the calls that its handler makes. Made by [`Propagation::incoming`].
#[derive(Debug, Clone)]
pub struct IncomingLayer {
    propagation: Propagation,
}

impl IncomingLayer {
    pub(super) const fn new(propagation: Propagation) -> Self {
        Self { propagation }
    }
}

impl<S> Layer<S> for IncomingLayer {
    type Service = Incoming<S>;

    fn layer(&self, inner: S) -> Incoming<S> {
        Incoming { inner, propagation: self.propagation.clone() }
    }
}

/// A server whose handlers pass headers on. Made by [`IncomingLayer`].
///
/// Each request has a [`Propagated`] among its extensions, and as the current one while it is handled and its answer is sent:
/// its own, even if it has none of the headers.
#[derive(Debug, Clone)]
pub struct Incoming<S> {
    inner: S,
    propagation: Propagation,
}

impl<S, B, R> Service<Request<B>> for Incoming<S>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Response = Response<ScopedBody<R>>;
    type Error = S::Error;
    type Future = IncomingFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> IncomingFuture<S::Future> {
        let propagated: Propagated = self.propagation.of(request.headers());
        request.extensions_mut().insert(propagated.clone());
        let future = current::during(&propagated, || self.inner.call(request));
        IncomingFuture::new(propagated, future)
    }
}
