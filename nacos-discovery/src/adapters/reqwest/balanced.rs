use ::reqwest::{Client, IntoUrl, Method, Request, Response};
use tower_layer::Layer;

use super::{BalancedRequest, ReqwestService, set_aside};
use crate::{Balance, BalanceError, BalanceLayer, Discovery, RetryNext, RetryNextLayer};

/// A [`Client`] whose requests may name services, like `lb://order-service/v1`, and are repeated on the next instance where
/// that does no harm. Cheap to clone; clones share the client's connections.
///
/// # Examples
///
/// ```no_run
/// # async fn example(discovery: nacos_discovery::Discovery) -> Result<(), Box<dyn std::error::Error>> {
/// let web = discovery.reqwest(reqwest::Client::new());
/// let order = web.get("lb://order-service/orders/7").send().await?.text().await?;
/// # drop(order);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct ReqwestBalanced {
    service: RetryNext<Balance<ReqwestService>>,
    client: Client,
}

impl ReqwestBalanced {
    /// With this client, and with the services and rules of a layer. Failed calls are repeated by the
    /// [`crate::RetrySettings`] of their service.
    #[must_use]
    pub fn new(client: Client, layer: &BalanceLayer) -> Self {
        let balance = layer.layer(ReqwestService::new(client.clone()));
        Self { service: RetryNextLayer::above(layer).layer(balance), client }
    }

    /// A `GET` request.
    pub fn get(&self, url: impl IntoUrl) -> BalancedRequest {
        self.request(Method::GET, url)
    }

    /// A `HEAD` request.
    pub fn head(&self, url: impl IntoUrl) -> BalancedRequest {
        self.request(Method::HEAD, url)
    }

    /// A `POST` request.
    pub fn post(&self, url: impl IntoUrl) -> BalancedRequest {
        self.request(Method::POST, url)
    }

    /// A `PUT` request.
    pub fn put(&self, url: impl IntoUrl) -> BalancedRequest {
        self.request(Method::PUT, url)
    }

    /// A `PATCH` request.
    pub fn patch(&self, url: impl IntoUrl) -> BalancedRequest {
        self.request(Method::PATCH, url)
    }

    /// A `DELETE` request.
    pub fn delete(&self, url: impl IntoUrl) -> BalancedRequest {
        self.request(Method::DELETE, url)
    }

    /// A request of any method. A URL that cannot be read is told by [`BalancedRequest::send`].
    pub fn request(&self, method: Method, url: impl IntoUrl) -> BalancedRequest {
        BalancedRequest::new(self.clone(), self.client.request(method, url))
    }

    /// Sends a request that reqwest built.
    ///
    /// # Errors
    /// As [`BalancedRequest::send`].
    ///
    /// # Cancel safety
    /// As [`BalancedRequest::send`].
    pub async fn execute(&self, request: Request) -> Result<Response, BalanceError> {
        let request = http::Request::try_from(request).map_err(BalanceError::refused)?;
        self.execute_http(request).await
    }

    /// The client below.
    #[must_use]
    pub const fn client(&self) -> &Client {
        &self.client
    }

    pub(super) async fn execute_http(
        &self,
        mut request: http::Request<::reqwest::Body>,
    ) -> Result<Response, BalanceError> {
        set_aside(&mut request);
        let response = self.service.send(request).await?;
        Ok(response.map(::reqwest::Body::wrap).into())
    }
}

impl Discovery {
    /// A reqwest client whose requests may name services of the configured group, with the settings of
    /// [`Discovery::directory`].
    #[must_use]
    pub fn reqwest(&self, client: Client) -> ReqwestBalanced {
        ReqwestBalanced::new(client, &BalanceLayer::new(self))
    }
}
