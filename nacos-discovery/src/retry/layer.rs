use std::sync::Arc;

use http::Request;
use tower_layer::Layer;

use super::RetryNext;
use super::scope::{Scope, Unknown};
use crate::{BalanceLayer, Directory};

/// Repeats failed calls on the next instance, by the rules of [`crate::RetrySettings`]. It belongs above a [`BalanceLayer`].
///
/// The caller gets the response or the error of the last attempt untouched; what earlier attempts were answered is read as
/// far as 64 KiB, so that their connections can be used again, or dropped. A response whose headers were handed out is never
/// repeated. The service below gets an [`crate::Attempt`] with each request; a call that has one already is repeated by a
/// layer above, and not by this one.
///
/// A timeout for single attempts belongs below the [`BalanceLayer`], which then learns of it; one above both limits the call
/// as a whole.
///
/// A client below that repeats calls itself cannot go to another instance: use either this layer or `reqwest-retry` and the
/// like, not both. That hyper-util sends a request again which a pooled connection did not take does no harm.
///
/// What services share, the budget of repetitions among it, belongs to the [`Directory`]: all layers and clones on one
/// directory have it in common.
///
/// # Examples
///
/// ```
/// # use http::{Request, Response};
/// # use http_body::Body;
/// # use nacos_discovery::{
/// #     BalanceLayer, BalanceSettings, Discovery, ReplayBody, RetryNextLayer, RetrySettings, ServiceSettings,
/// # };
/// # use tower_layer::Layer;
/// # use tower_service::Service;
/// # async fn example<C, B>(discovery: &Discovery, client: C) -> Result<(), Box<dyn std::error::Error>>
/// # where
/// #     C: Service<Request<ReplayBody<String>>, Response = Response<B>, Error = std::io::Error> + Clone,
/// #     B: Body + Send + 'static,
/// # {
/// // Three attempts for stock-service, which may also be sent PUT and DELETE more than once.
/// let settings = BalanceSettings::new(ServiceSettings::default()).with_service("stock-service", |settings| {
///     settings.with_retry(RetrySettings::default().with_attempts(3).idempotent())
/// });
/// let balance = BalanceLayer::new(discovery.directory_with(settings));
/// let mut client = RetryNextLayer::above(&balance).layer(balance.layer(client));
///
/// std::future::poll_fn(|cx| client.poll_ready(cx)).await?;
/// let response = client.call(Request::delete("lb://stock-service/items/7").body(String::new())?).await?;
/// # assert!(response.status().is_success());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct RetryNextLayer {
    balance: BalanceLayer,
    unknown: Arc<Unknown>,
}

impl RetryNextLayer {
    /// With the services of a [`Directory`], or the one of a [`crate::Discovery`], which are named by `lb://` or a
    /// [`nacos_client::ServiceKey`]. Calls that the balancer below finds the service of in another way are repeated by the
    /// default settings; [`RetryNextLayer::above`] knows what it knows. So it is with headers that the balancer adds and rules look at:
    /// without them this layer may take all instances for tried.
    #[must_use]
    pub fn new(directory: impl Into<Directory>) -> Self {
        Self::above(&BalanceLayer::new(directory))
    }

    /// For use above this balancer: it finds the service of a request as that does.
    #[must_use]
    pub fn above(balance: &BalanceLayer) -> Self {
        let settings = balance.directory().settings().default_settings();
        Self { balance: balance.clone(), unknown: Arc::new(Unknown::new(Arc::clone(settings))) }
    }

    /// Once for all attempts: a later one may be made by a task that knows nothing of the request being handled.
    pub(super) fn propagate<B>(&self, request: &mut Request<B>, scope: &Scope) {
        if let (Some(propagation), Scope::Service(_)) = (self.balance.propagation(), scope) {
            propagation.add_to(request);
        }
    }

    pub(super) fn scope<B>(&self, request: &Request<B>) -> Scope {
        let endpoints = self.balance.endpoints_of(request);
        endpoints.map_or_else(|| Scope::Unknown(Arc::clone(&self.unknown)), Scope::Service)
    }
}

impl<S> Layer<S> for RetryNextLayer {
    type Service = RetryNext<S>;

    fn layer(&self, inner: S) -> RetryNext<S> {
        RetryNext::new(inner, self.clone())
    }
}
