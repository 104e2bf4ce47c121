use std::error::Error;
use std::fmt;

use ::hyper::body::Incoming;
use http::{Request, Response, Uri};
use http_body::Body;
use tower_layer::Layer;

use super::{HyperClient, HyperSettings};
use crate::{Balance, BalanceError, BalanceLayer, Discovery, ReplayBody, RetryNext, RetryNextLayer, Tracked};

/// A client whose requests may name services, like `lb://order-service/v1`, and are repeated on the next instance where that
/// does no harm. Cheap to clone; clones share connections.
///
/// # Examples
///
/// ```no_run
/// # async fn example(discovery: nacos_discovery::Discovery) -> Result<(), Box<dyn std::error::Error>> {
/// use http::Request;
///
/// let http = discovery.http();
/// let response = http.request(Request::get("lb://order-service/orders/7").body(String::new())?).await?;
/// assert_eq!(response.status(), 200);
/// # Ok(()) }
/// ```
pub struct HyperBalanced<B> {
    service: RetryNext<Balance<HyperClient<ReplayBody<B>>>>,
}

impl<B> HyperBalanced<B>
where
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    /// With these connections, and with the services and rules of a layer. Failed calls are repeated by the
    /// [`crate::RetrySettings`] of their service.
    #[must_use]
    pub fn new(settings: &HyperSettings, layer: &BalanceLayer) -> Self {
        let layer = if settings.is_http2() { layer.clone() } else { layer.clone().writing_host() };
        Self { service: RetryNextLayer::above(&layer).layer(layer.layer(settings.build())) }
    }

    /// Sends a request to an instance, and waits for the head of the response.
    ///
    /// # Errors
    /// [`BalanceError`]. What hyper-util says is [`BalanceError::Inner`].
    ///
    /// # Cancel safety
    /// Dropping the future gives the request up, which may have been sent.
    pub async fn request(&self, request: Request<B>) -> Result<Response<Tracked<Incoming>>, BalanceError> {
        self.service.send(request).await
    }

    /// Sends a `GET` request without a body.
    ///
    /// # Errors
    /// As [`HyperBalanced::request`].
    ///
    /// # Cancel safety
    /// As [`HyperBalanced::request`].
    pub async fn get(&self, uri: Uri) -> Result<Response<Tracked<Incoming>>, BalanceError>
    where
        B: Default,
    {
        let mut request = Request::new(B::default());
        *request.uri_mut() = uri;
        self.request(request).await
    }
}

impl<B> Clone for HyperBalanced<B> {
    fn clone(&self) -> Self {
        Self { service: self.service.clone() }
    }
}

impl<B> fmt::Debug for HyperBalanced<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HyperBalanced").finish_non_exhaustive()
    }
}

impl Discovery {
    /// An HTTP client whose requests may name services of the configured group, with the settings of
    /// [`Discovery::directory`] and [`HyperSettings::default`].
    #[must_use]
    pub fn http<B>(&self) -> HyperBalanced<B>
    where
        B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
    {
        HyperBalanced::new(&HyperSettings::default(), &BalanceLayer::new(self))
    }
}
