use std::error::Error;
use std::task::{Context, Poll};

use ::tonic::Status;
use ::tonic::body::Body;
use http::{Request, Response};
use tokio::time::{Instant, sleep_until};
use tower_layer::Layer;
use tower_service::Service;

use super::deadline::Deadline;
use super::status::of_call;
use super::{GrpcTimeout, TonicBody, TonicFuture};
use crate::adapters::hyper::{HyperClient, HyperSettings};
use crate::{
    Balance, BalanceLayer, Discovery, ReplayBody, RetryNext, RetryNextFuture, RetryNextLayer, ServiceRef, Tracked,
};

/// What a stub of tonic goes over: an HTTP/2 client that sends each call to an instance, and to the next one if it was not sent. Cheap
/// to clone; clones share connections.
///
/// # Examples
///
/// ```no_run
/// # async fn example(discovery: nacos_discovery::Discovery) -> Result<(), Box<dyn std::error::Error>> {
/// # struct OrdersClient<T>(tonic::client::Grpc<T>);
/// # impl<T> OrdersClient<T> {
/// #     fn new(service: T) -> Self { Self(tonic::client::Grpc::new(service)) }
/// #     async fn order(&mut self, id: u64) -> Result<tonic::Response<String>, tonic::Status>
/// #     where T: tonic::client::GrpcService<tonic::body::Body> {
/// #         self.0.ready().await.map_err(|e| tonic::Status::from_error(e.into()))?;
/// #         Ok(tonic::Response::new(id.to_string()))
/// #     }
/// # }
/// use nacos_discovery::ServedBy;
///
/// let mut orders = OrdersClient::new(discovery.tonic("order-service"));
/// let order = orders.order(7).await?;
/// println!("{} from {}", order.get_ref(), order.extensions().get::<ServedBy>().expect("it was balanced"));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct TonicBalanced<S = HyperClient<ReplayBody<Body>>> {
    service: RetryNext<Balance<GrpcTimeout<S>>>,
}

impl<S> TonicBalanced<S> {
    /// Over this client, which has to speak HTTP/2 at once ([`HyperSettings::with_http2`]), and with the services and rules of a layer,
    /// commonly that of [`BalanceLayer::for_service`]. Failed calls are repeated by the [`crate::RetrySettings`] of their service.
    #[must_use]
    pub fn new(client: S, layer: &BalanceLayer) -> Self {
        Self { service: RetryNextLayer::above(layer).layer(layer.layer(GrpcTimeout::new(client))) }
    }
}

impl<S, R> Service<Request<Body>> for TonicBalanced<S>
where
    S: Service<Request<ReplayBody<Body>>, Response = Response<R>> + Clone,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    R: http_body::Body + Send + 'static,
{
    type Response = Response<TonicBody<Tracked<R>>>;
    type Error = Status;
    type Future = TonicFuture<RetryNextFuture<Balance<GrpcTimeout<S>>, Body>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Service::<Request<Body>>::poll_ready(&mut self.service, cx).map_err(of_call)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let deadline = Deadline::of(request.headers(), Instant::now());
        if let Some(deadline) = deadline {
            request.extensions_mut().insert(deadline);
        }
        TonicFuture::new(self.service.call(request), deadline.map(|deadline| Box::pin(sleep_until(deadline.0))))
    }
}

impl Discovery {
    /// What stubs of tonic go over, for a service of the configured group or another one, with the settings of
    /// [`Discovery::grpc_directory`] and [`HyperSettings::default`].
    #[must_use]
    pub fn tonic(&self, service: impl Into<ServiceRef>) -> TonicBalanced {
        self.tonic_with(service, HyperSettings::default().with_http2().build())
    }

    /// The same over another client, such as one whose connector speaks TLS: see [`HyperSettings::build_on`].
    #[must_use]
    pub fn tonic_with<S>(&self, service: impl Into<ServiceRef>, client: S) -> TonicBalanced<S> {
        TonicBalanced::new(client, &BalanceLayer::for_service(self.grpc_directory(), service))
    }
}
