use std::sync::Arc;

use http::Request;
use tower_layer::Layer;

use super::outcome::Judge;
use super::shared::Shared;
use super::target::Addressing;
use super::{Balance, Classify, Hooks, ServiceRef};
use crate::propagate::Propagation;
use crate::{Directory, Endpoints};

/// Sends each request to an instance of the service that it names, over any HTTP client that is a
/// `tower_service::Service<http::Request<B>>`. Cheap to clone.
///
/// # Which service is meant
///
/// The first of these that applies:
///
/// 1. a [`nacos_client::ServiceKey`] among the request's extensions: the only way to name another group per request;
/// 2. `lb://order-service/orders/7`: always a service, its name as it is written;
/// 3. with [`BalanceLayer::for_service`]: that service, whatever host the URI names, or none, as stubs of gRPC make them;
/// 4. `http://order-service/orders/7`, and the same with `https`, `ws`, `wss`: a service if its host is one of
///    [`BalanceLayer::hosts`], one that [`BalanceLayer::hosts_where`] takes, or an [`BalanceLayer::alias`].
///
/// Everything else is sent as it is. A port in the URI is not looked at, as in Spring Cloud: every instance has its own.
/// User info before the host is refused, rather than lost. Fragments are no part of an `http::Uri`.
///
/// # What is sent
///
/// Path and query byte for byte, to the address of the instance. An instance with TLS turns `http` into `https` and `ws` into
/// `wss`; a request for `https` or `wss` goes to instances with TLS only, unless [`crate::Downgrade`] allows others.
///
/// The instance is picked and the client below called in one go, after that client is ready: nothing is queued in between,
/// so that a request which begins after a list was applied never goes to an instance that the list does not have.
///
/// # Time limits
///
/// It has none beyond the wait for a first list: put a time limit on single calls *below* it, around the client. There it
/// counts against an instance that does not answer. One above only ends the waiting: the balancer sees a caller who gave up.
///
/// # Examples
///
/// ```
/// # use std::convert::Infallible;
/// # use http::{Request, Response};
/// # use http_body::Body;
/// # use nacos_discovery::{BalanceLayer, Discovery, ServedBy};
/// # use tower_layer::Layer;
/// # use tower_service::Service;
/// # async fn example<C, B>(discovery: &Discovery, client: C) -> Result<(), Box<dyn std::error::Error>>
/// # where C: Service<Request<String>, Response = Response<B>, Error = Infallible> + Clone, B: Body {
/// let mut client = BalanceLayer::new(discovery).layer(client);
/// std::future::poll_fn(|cx| client.poll_ready(cx)).await?;
/// let response = client.call(Request::get("lb://order-service/orders/7").body(String::new())?).await?;
/// println!("{} from {}", response.status(), response.extensions().get::<ServedBy>().expect("it was balanced"));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct BalanceLayer {
    shared: Arc<Shared>,
}

impl BalanceLayer {
    /// With the services of a [`Directory`], or those of a [`crate::Discovery`].
    #[must_use]
    pub fn new(directory: impl Into<Directory>) -> Self {
        Self::with(directory.into(), Addressing::default())
    }

    /// For the requests of one service, whatever their URIs name: only `lb://` and a [`nacos_client::ServiceKey`] among the
    /// extensions still lead to another one.
    #[must_use]
    pub fn for_service(directory: impl Into<Directory>, service: impl Into<ServiceRef>) -> Self {
        Self::with(directory.into(), Addressing::bound(service.into()))
    }

    fn with(directory: Directory, addressing: Addressing) -> Self {
        let shared = Shared {
            directory,
            group: None,
            addressing,
            hooks: Arc::default(),
            judge: Judge::default(),
            propagation: None,
            writes_host: false,
        };
        Self { shared: Arc::new(shared) }
    }

    /// The group of services that are meant by their names, default that of the directory's settings.
    #[must_use]
    pub fn group(self, group: impl Into<String>) -> Self {
        self.changed(|shared| shared.group = Some(group.into()))
    }

    /// Services that `http` URIs name by their host, default none. Letters may be large or small in a host, so `http://orders`
    /// means `Orders` unless `orders` is listed, too.
    #[must_use]
    pub fn hosts<N: AsRef<str>>(self, names: impl IntoIterator<Item = N>) -> Self {
        self.changed(|shared| names.into_iter().for_each(|name| shared.addressing.add_host(name.as_ref())))
    }

    /// Hosts of `http` URIs that are names of services, beside those of [`BalanceLayer::hosts`]. It is asked for every other
    /// host, on the task of the caller, so it must be quick.
    #[must_use]
    pub fn hosts_where(self, is_service: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.changed(|shared| shared.addressing.set_predicate(Arc::new(is_service)))
    }

    /// Another name for a service, in URIs of every scheme: for names that no URI can hold, such as those with letters
    /// beyond ASCII.
    #[must_use]
    pub fn alias(self, host: impl AsRef<str>, service: impl Into<ServiceRef>) -> Self {
        self.changed(|shared| shared.addressing.add_alias(host.as_ref(), service.into()))
    }

    /// Who is told of every call, after those given before.
    #[must_use]
    pub fn hooks(self, hooks: impl Hooks) -> Self {
        let hooks: Arc<dyn Hooks> = Arc::new(hooks);
        self.changed(|shared| shared.hooks = shared.hooks.iter().cloned().chain([hooks]).collect())
    }

    /// Who knows more of errors and answers than this layer, asked after those given before.
    #[must_use]
    pub fn classify(self, expert: impl Classify) -> Self {
        self.changed(|shared| shared.judge.add(Arc::new(expert)))
    }

    /// Adds headers of the request that is being handled to those for services, before an instance is picked; default none. A
    /// [`crate::RetryNextLayer`] that was made [above](crate::RetryNextLayer::above) it adds them once for all attempts.
    #[must_use]
    pub fn propagating(self, propagation: &Propagation) -> Self {
        self.changed(|shared| shared.propagation = Some(propagation.clone()))
    }

    /// Writes the `Host` header of the instance into requests that have none; default is to leave it to the client below. It
    /// is the same on the wire, but made once for each instance, which saves a client like hyper-util's much of its work.
    ///
    /// For clients that follow no redirects, as another host would be asked by this name, and that speak HTTP/1.1 unless the
    /// version of the request is HTTP/2, which has no such header. [`crate::HostHeader::Service`] counts more.
    #[must_use]
    pub fn writing_host(self) -> Self {
        self.changed(|shared| shared.writes_host = true)
    }

    pub(crate) fn propagation(&self) -> Option<&Propagation> {
        self.shared.propagation.as_ref()
    }

    pub(crate) fn directory(&self) -> &Directory {
        &self.shared.directory
    }

    /// The instances of the service that a request is for, `None` if it is for none or cannot be sent.
    pub(crate) fn endpoints_of<B>(&self, request: &Request<B>) -> Option<Arc<Endpoints>> {
        self.shared.endpoints_of(request)
    }

    /// Whether a request is for a service.
    pub(crate) fn is_for_service<B>(&self, request: &Request<B>) -> bool {
        self.shared.is_for_service(request)
    }

    fn changed(mut self, change: impl FnOnce(&mut Shared)) -> Self {
        change(Arc::make_mut(&mut self.shared));
        self
    }
}

impl<S> Layer<S> for BalanceLayer {
    type Service = Balance<S>;

    fn layer(&self, inner: S) -> Balance<S> {
        Balance::new(inner, Arc::clone(&self.shared))
    }
}
