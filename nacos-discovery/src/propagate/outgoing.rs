use std::task::{Context, Poll};

use http::Request;
use tower_layer::Layer;
use tower_service::Service;

use super::Propagation;
use crate::BalanceLayer;

/// Adds the named headers to the requests of a client. Made by [`Propagation::outgoing`]. It belongs above the balancer, and
/// above [`crate::RetryNextLayer`] where there is one, so that all attempts have them.
#[derive(Debug, Clone)]
pub struct OutgoingLayer {
    propagation: Propagation,
    balance: Option<BalanceLayer>,
}

impl OutgoingLayer {
    pub(super) const fn new(propagation: Propagation) -> Self {
        Self { propagation, balance: None }
    }

    /// Only to requests that this balancer, somewhere below, sends to a service. What goes elsewhere, to a stranger's server
    /// maybe, stays as it is.
    #[must_use]
    pub fn above(mut self, balance: &BalanceLayer) -> Self {
        self.balance = Some(balance.clone());
        self
    }
}

impl<S> Layer<S> for OutgoingLayer {
    type Service = Outgoing<S>;

    fn layer(&self, inner: S) -> Outgoing<S> {
        Outgoing { inner, layer: self.clone() }
    }
}

/// An HTTP client that adds headers of the request that is being handled. Made by [`OutgoingLayer`].
#[derive(Debug, Clone)]
pub struct Outgoing<S> {
    inner: S,
    layer: OutgoingLayer,
}

impl<S> Outgoing<S> {
    /// The client below.
    #[must_use]
    pub const fn inner(&self) -> &S {
        &self.inner
    }
}

impl<S, B> Service<Request<B>> for Outgoing<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> S::Future {
        let OutgoingLayer { propagation, balance } = &self.layer;
        if balance.as_ref().is_none_or(|balance| balance.is_for_service(&request)) {
            propagation.add_to(&mut request);
        }
        self.inner.call(request)
    }
}
