use std::error::Error;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::shared::Shared;
use super::target::bare_host;
use super::{BalanceError, BalanceFuture, Tracked};

/// An HTTP client whose requests may name services. Made by [`crate::BalanceLayer`].
///
/// It is ready when the client below is. Readiness that a request does not use, because no instance takes it, is given
/// back at once.
#[derive(Debug, Clone)]
pub struct Balance<S> {
    inner: S,
    layer: Arc<Shared>,
}

impl<S> Balance<S> {
    pub(super) const fn new(inner: S, layer: Arc<Shared>) -> Self {
        Self { inner, layer }
    }

    /// The client below.
    #[must_use]
    pub const fn inner(&self) -> &S {
        &self.inner
    }
}

/// The client that is ready. What stays is a clone, which is not: whatever the ready one has reserved goes with it.
fn take_ready<S: Clone>(inner: &mut S) -> S {
    let clone = inner.clone();
    mem::replace(inner, clone)
}

impl<S, B, R> Service<Request<B>> for Balance<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    R: Body,
{
    type Response = Response<Tracked<R>>;
    type Error = BalanceError;
    type Future = BalanceFuture<S, B>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BalanceError>> {
        self.inner.poll_ready(cx).map_err(|error| {
            let source = error.into();
            BalanceError::inner(self.layer.judge.error(&*source), source)
        })
    }

    fn call(&mut self, mut request: Request<B>) -> BalanceFuture<S, B> {
        let Self { inner, layer } = self;
        let judge = layer.judge.clone();
        // Nothing of the service is counted for a call: it stays while this is held.
        let guard = layer.directory.guard();
        let picked = match layer.aim(&mut request, &guard) {
            Ok(None) => {
                let host = bare_host(request.uri()).map(Box::from);
                return BalanceFuture::passing(inner.call(request), host, judge);
            }
            Ok(Some((aimed, endpoints))) if endpoints.is_known() => aimed.pick_target(&mut request, endpoints),
            Ok(Some((aimed, endpoints))) => {
                return BalanceFuture::waiting(take_ready(inner), request, aimed, Arc::clone(endpoints), judge);
            }
            Err(error) => Err(error),
        };
        match picked {
            Ok(running) => BalanceFuture::calling(inner, request, running, judge),
            Err(error) => {
                drop(take_ready(inner));
                BalanceFuture::failed(error, judge)
            }
        }
    }
}
