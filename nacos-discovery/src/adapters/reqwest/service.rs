use std::error::Error;
use std::task::{Context, Poll};

use ::reqwest::{Body, Client};
use bytes::Bytes;
use http::{Request, Response};
use tower_service::Service;

use super::{ReqwestFuture, to_reqwest};

/// A [`Client`] as a tower service, to go below [`crate::BalanceLayer`]. Cheap to clone.
///
/// Extensions of a request reach the client, and with them a time limit that was set by reqwest's own builder.
///
/// # Examples
///
/// ```no_run
/// # fn example(discovery: nacos_discovery::Discovery) {
/// use nacos_discovery::BalanceLayer;
/// use nacos_discovery::adapters::reqwest::ReqwestService;
/// use tower_layer::Layer;
///
/// let http = BalanceLayer::new(&discovery).layer(ReqwestService::new(reqwest::Client::new()));
/// # drop(http);
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ReqwestService {
    client: Client,
}

impl ReqwestService {
    /// Over this client.
    #[must_use]
    pub const fn new(client: Client) -> Self {
        Self { client }
    }
}

impl<B> Service<Request<B>> for ReqwestService
where
    B: http_body::Body<Data: Into<Bytes>, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = ::reqwest::Error;
    type Future = ReqwestFuture;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Service::<::reqwest::Request>::poll_ready(&mut self.client, cx)
    }

    fn call(&mut self, request: Request<B>) -> ReqwestFuture {
        ReqwestFuture::new(to_reqwest(request).map(|request| self.client.call(request)))
    }
}
