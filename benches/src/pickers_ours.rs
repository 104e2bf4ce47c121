//! The balancer of this project over simulated instances.

use std::io;
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::{Request, Response, Uri};
use http_body_util::Empty;
use nacos_client::Instance;
use nacos_discovery::{
    BalanceLayer, BalanceSettings, Directory, EjectSettings, InMemoryDiscovery, LeastRequest, PeakEwma, RetryNextLayer,
    ServiceSettings, WeightedRandom,
};
use tower::ServiceExt;
use tower_layer::Layer;
use tower_service::Service;

use super::Failure;
use super::pickers_fleet::{Client, Fleet};

const SERVICE: &str = "orders";
/// Of the instance with the number 0.
const FIRST_PORT: u16 = 10_000;

/// How it is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Setup {
    pub(crate) policy: Policy,
    pub(crate) ejects: bool,
    pub(crate) repeats: bool,
}

/// How it chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    WeightedRandom,
    LeastRequest,
    PeakEwma,
}

impl Setup {
    fn settings(self) -> ServiceSettings {
        let settings = ServiceSettings::default().with_ejection(self.ejects.then(EjectSettings::new));
        match self.policy {
            Policy::WeightedRandom => settings.with_policy(WeightedRandom::default()),
            Policy::LeastRequest => settings.with_policy(LeastRequest::default()),
            Policy::PeakEwma => settings.with_policy(PeakEwma::default()),
        }
    }

    /// With the first so many instances.
    pub(crate) async fn client(self, fleet: Arc<Fleet>, count: usize) -> Result<Box<dyn Client>, Failure> {
        let source = InMemoryDiscovery::new().with(SERVICE, (0..count).map(instance));
        let directory = Directory::new(Arc::new(source.clone()), BalanceSettings::new(self.settings()));
        directory.endpoints_named("", SERVICE)?.ready().await?;
        let layer = BalanceLayer::new(directory);
        let retry = RetryNextLayer::above(&layer);
        let count = RwLock::new(count);
        Ok(if self.repeats {
            Box::new(Ours { service: retry.layer(layer.layer(Network(fleet))), source, count })
        } else {
            Box::new(Ours { service: layer.layer(Network(fleet)), source, count })
        })
    }
}

fn instance(number: usize) -> Instance {
    Instance::new(("127.0.0.1", FIRST_PORT + number as u16))
}

struct Ours<S> {
    service: S,
    source: InMemoryDiscovery,
    count: RwLock<usize>,
}

impl<S> Client for Ours<S>
where
    S: Service<Request<Empty<Bytes>>, Future: Send> + Clone + Send + Sync + 'static,
{
    fn call(&self) -> BoxFuture<'static, bool> {
        let mut request = Request::new(Empty::new());
        *request.uri_mut() = Uri::from_static("lb://orders/");
        self.service.clone().oneshot(request).map(|answer| answer.is_ok()).boxed()
    }

    fn add(&self, number: usize) -> BoxFuture<'static, Result<(), Failure>> {
        let mut count = self.count.write().unwrap_or_else(PoisonError::into_inner);
        *count = number + 1;
        self.source.set(SERVICE, (0..*count).map(instance));
        std::future::ready(Ok(())).boxed()
    }
}

/// Where requests arrive at the instance that their URI names.
#[derive(Debug, Clone)]
struct Network(Arc<Fleet>);

impl<B> Service<Request<B>> for Network {
    type Response = Response<Empty<Bytes>>;
    type Error = io::Error;
    type Future = BoxFuture<'static, Result<Self::Response, io::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let number = request.uri().port_u16().map(|port| usize::from(port - FIRST_PORT));
        let fleet = Arc::clone(&self.0);
        async move {
            fleet.serve(number.ok_or(io::ErrorKind::InvalidInput)?).await?;
            Ok(Response::new(Empty::new()))
        }
        .boxed()
    }
}
