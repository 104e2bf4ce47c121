use std::future::poll_fn;

use axum::body::Body;
use http::{Request, Response};
use hyper::body::Incoming;
use nacos_discovery::adapters::hyper::{HyperClient, HyperSettings};
use nacos_discovery::{Balance, BalanceError, BalanceLayer, ReplayBody, RetryNext, RetryNextLayer, Tracked};
use tower_layer::Layer;
use tower_service::Service;

use super::GatewayLimits;
use super::patient::Patient;
use super::sent::Sent;

type Stack = RetryNext<Balance<Patient<HyperClient<Sent<ReplayBody<Body>>>>>>;

/// Calls instances over one protocol.
#[derive(Debug, Clone)]
pub(super) struct Client(Stack);

impl Client {
    pub(super) fn new(balance: &BalanceLayer, settings: HyperSettings, limits: GatewayLimits) -> Self {
        let client = settings.with_connect_timeout(limits.connect).build();
        let balanced = balance.layer(Patient::new(client, limits.answer));
        Self(RetryNextLayer::above(balance).layer(balanced))
    }

    pub(super) async fn request(&self, request: Request<Body>) -> Result<Response<Tracked<Incoming>>, BalanceError> {
        let mut stack = self.0.clone();
        poll_fn(|cx| Service::<Request<Body>>::poll_ready(&mut stack, cx)).await?;
        stack.call(request).await
    }
}
