//! What tests of calls share: instances without a registry, a client with a timeout, and clients that answer themselves.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream;
use http::Request;
use http_body::Body;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use nacos_client::{Instance, ServiceKey};
use nacos_discovery::{
    BalanceSettings, Directory, DiscoveryError, Endpoints, Lists, ServiceList, ServiceSettings, Source,
};
use tokio::sync::watch;
use tower_service::Service;

/// The service that is called.
pub(crate) const CALLED: &str = "order-service";

/// The same instances of every service, until a test changes them.
#[derive(Debug, Clone)]
pub(crate) struct Listed(Arc<watch::Sender<ServiceList>>);

impl Listed {
    pub(crate) fn new(instances: impl IntoIterator<Item = Instance>) -> Self {
        Self(Arc::new(watch::Sender::new(ServiceList::new(1, instances.into_iter().map(Arc::new)))))
    }

    /// Replaces them.
    pub(crate) fn set(&self, instances: impl IntoIterator<Item = Instance>) {
        let instances: Vec<_> = instances.into_iter().map(Arc::new).collect();
        self.0.send_modify(|list| *list = ServiceList::new(list.revision() + 1, instances));
    }

    /// A directory with these lists.
    pub(crate) fn directory(&self, settings: BalanceSettings) -> Directory {
        Directory::new(Arc::new(self.clone()), settings)
    }
}

impl Source for Listed {
    fn lists(&self, _: &ServiceKey) -> Result<Lists, DiscoveryError> {
        let mut receiver = self.0.subscribe();
        receiver.mark_changed();
        Ok(Box::pin(stream::unfold(receiver, async |mut receiver| {
            receiver.changed().await.ok()?;
            let list = receiver.borrow_and_update().clone();
            Some((Ok(list), receiver))
        })))
    }
}

/// A directory in which every service has these instances.
pub(crate) fn directory(instances: impl IntoIterator<Item = Instance>, settings: ServiceSettings) -> Directory {
    Listed::new(instances).directory(BalanceSettings::new(settings))
}

/// An instance that is picked before all others that are not.
pub(crate) fn preferred(instance: Instance) -> Instance {
    instance.weight(10_000.0)
}

/// An instance that is hardly ever picked where there is a preferred one.
pub(crate) fn spare(instance: Instance) -> Instance {
    instance.weight(0.000_01)
}

/// The instances of [`CALLED`].
pub(crate) fn called(directory: &Directory) -> Arc<Endpoints> {
    directory.endpoints(&ServiceKey::new("", CALLED)).expect("a name")
}

/// Calls of a directory's instances of [`CALLED`] that have not ended.
pub(crate) fn in_flight(directory: &Directory) -> u32 {
    called(directory).all().iter().map(|endpoint| endpoint.in_flight()).sum()
}

/// Waits until the service is ready, and calls it.
pub(crate) async fn send<S: Service<R>, R>(service: &mut S, request: R) -> Result<S::Response, S::Error> {
    poll_fn(|cx| service.poll_ready(cx)).await?;
    service.call(request).await
}

/// hyper's client, with a connection for each request that finds no idle one.
pub(crate) fn hyper_client<B>() -> Client<HttpConnector, B>
where
    B: Body + Send + 'static + Unpin,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    Client::builder(TokioExecutor::new()).build_http()
}

/// Gives each call of the service below some time.
#[derive(Debug, Clone)]
pub(crate) struct Timed<S> {
    pub(crate) inner: S,
    pub(crate) limit: Duration,
}

impl<S, B> Service<Request<B>> for Timed<S>
where
    S: Service<Request<B>, Error: Into<Box<dyn std::error::Error + Send + Sync>>, Future: Send + 'static>,
{
    type Response = S::Response;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = BoxFuture<'static, Result<S::Response, Self::Error>>;

    fn poll_ready(&mut self, cx: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (limit, call) = (self.limit, self.inner.call(request));
        Box::pin(async move {
            match tokio::time::timeout(limit, call).await {
                Ok(result) => result.map_err(Into::into),
                Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
            }
        })
    }
}
