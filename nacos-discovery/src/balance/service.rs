use std::error::Error;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use tokio::time::Instant;
use tower_service::Service;

use super::rewrite::rewrite;
use super::target::{Destination, destination};
use super::{BalanceError, BalanceFuture, BalanceLayer, Tracked};
use crate::{Endpoints, PickContext, Picked};

/// An HTTP client whose requests may name services. Made by [`BalanceLayer`].
#[derive(Debug, Clone)]
pub struct Balance<S> {
    inner: S,
    layer: BalanceLayer,
}

impl<S> Balance<S> {
    pub(super) const fn new(inner: S, layer: BalanceLayer) -> Self {
        Self { inner, layer }
    }
}

impl<S, B, R> Service<Request<B>> for Balance<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<Tracked<R>>;
    type Error = BalanceError;
    type Future = BalanceFuture<S, B>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BalanceError>> {
        self.inner.poll_ready(cx).map_err(|error| BalanceError::Inner(error.into()))
    }

    fn call(&mut self, request: Request<B>) -> BalanceFuture<S, B> {
        let endpoints = match destination(request.uri()) {
            Ok(Destination::Named(name)) => self.layer.directory().endpoints(&self.layer.key(name)),
            Ok(Destination::Elsewhere) => return BalanceFuture::calling(self.inner.call(request), None),
            Err(error) => return BalanceFuture::failed(error),
        };
        let endpoints = match endpoints {
            Ok(endpoints) => endpoints,
            Err(error) => return BalanceFuture::failed(error),
        };
        if endpoints.is_known() {
            return send(&mut self.inner, request, &endpoints);
        }
        // The one that is ready goes with the request; what stays here is not.
        let clone = self.inner.clone();
        BalanceFuture::waiting(mem::replace(&mut self.inner, clone), request, endpoints)
    }
}

/// Picks an instance and calls it.
pub(super) fn send<S, B, R>(inner: &mut S, mut request: Request<B>, endpoints: &Arc<Endpoints>) -> BalanceFuture<S, B>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    let picked: Picked = match endpoints.pick(&mut PickContext::new()) {
        Ok(picked) => picked,
        Err(error) => return BalanceFuture::failed(error),
    };
    match rewrite(request.uri(), picked.target()) {
        Ok(uri) => *request.uri_mut() = uri,
        Err(error) => return BalanceFuture::failed(error),
    }
    BalanceFuture::calling(inner.call(request), Some((picked, Instant::now())))
}
