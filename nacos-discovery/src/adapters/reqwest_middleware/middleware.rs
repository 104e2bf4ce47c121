use std::future::poll_fn;

use ::reqwest::{Body, Request, Response};
use ::reqwest_middleware::{Middleware, Next, Result};
use async_trait::async_trait;
use http::Extensions;
use tower_layer::Layer;
use tower_service::Service;

use super::error::told;
use super::rest::Rest;
use crate::adapters::reqwest::set_aside;
use crate::{BalanceLayer, Discovery, RetryNextLayer};

/// Sends requests that name services, like `lb://order-service/v1`, to instances, and repeats them on the next instance where that does
/// no harm. Cheap to clone.
///
/// # Examples
///
/// ```no_run
/// # async fn example(discovery: nacos_discovery::Discovery) -> Result<(), Box<dyn std::error::Error>> {
/// use nacos_discovery::ServedBy;
/// use reqwest_middleware::ClientBuilder;
///
/// let web = ClientBuilder::new(reqwest::Client::new()).with(discovery.reqwest_middleware()).build();
/// let order = web.get("lb://order-service/orders/7").send().await?;
/// println!("{} from {}", order.status(), order.extensions().get::<ServedBy>().expect("it was balanced"));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct BalanceMiddleware {
    balance: BalanceLayer,
    retry: RetryNextLayer,
}

impl BalanceMiddleware {
    /// With the services and rules of a layer. Failed calls are repeated by the [`crate::RetrySettings`] of their service.
    #[must_use]
    pub fn new(layer: &BalanceLayer) -> Self {
        Self { balance: layer.clone(), retry: RetryNextLayer::above(layer) }
    }
}

/// Dropping the future gives the call up, which may have been sent.
#[async_trait]
impl Middleware for BalanceMiddleware {
    async fn handle(&self, request: Request, extensions: &mut Extensions, next: Next<'_>) -> Result<Response> {
        let mut request = http::Request::try_from(request)?;
        set_aside(&mut request);
        request.extensions_mut().extend(extensions.clone());
        let rest = Rest::new(next, extensions.clone());
        let mut service = self.retry.layer(self.balance.layer(rest.clone()));
        let ready = poll_fn(|cx| Service::<http::Request<Body>>::poll_ready(&mut service, cx)).await;
        let result = match ready {
            Ok(()) => service.call(request).await,
            Err(error) => Err(error),
        };
        rest.hand_back(extensions);
        result.map(|response| response.map(Body::wrap).into()).map_err(told)
    }
}

impl Discovery {
    /// A middleware through which requests of reqwest-middleware may name services of the configured group, with the settings of
    /// [`Discovery::directory`].
    #[must_use]
    pub fn reqwest_middleware(&self) -> BalanceMiddleware {
        BalanceMiddleware::new(&BalanceLayer::new(self))
    }
}
