//! What the tests of balancing share: services whose lists the test itself applies, and a client below the balancer that
//! insists on the contract of `tower_service::Service`.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, stream};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body::{Body, Frame};
use nacos_client::{Instance, ServiceKey, StartError};
use nacos_discovery::{
    BalanceSettings, Directory, DiscoveryError, Endpoints, Lists, ServiceList, ServiceSettings, Source,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::PollSemaphore;
use tower_service::Service;

/// The service that is called.
pub(crate) const ORDERS: &str = "Order_Service";

/// A source that says nothing by itself, and cannot watch one service.
#[derive(Debug)]
struct Silent;

impl Source for Silent {
    fn lists(&self, service: &ServiceKey) -> Result<Lists, DiscoveryError> {
        match service.name() {
            "unwatchable" => Err(StartError::NoRuntime.into()),
            _ => Ok(Box::pin(stream::pending())),
        }
    }
}

/// A directory whose lists come from the test.
pub(crate) fn silent(settings: ServiceSettings) -> Directory {
    Directory::new(Arc::new(Silent), BalanceSettings::new(settings))
}

/// The endpoints of [`ORDERS`].
pub(crate) fn orders(directory: &Directory) -> Arc<Endpoints> {
    directory.endpoints(&ServiceKey::new("", ORDERS)).expect("it can be watched")
}

/// Such a directory, in which [`ORDERS`] has these instances.
pub(crate) fn listing(settings: ServiceSettings, instances: impl IntoIterator<Item = Instance>) -> Directory {
    let directory = silent(settings);
    orders(&directory).apply(&list(1, instances));
    directory
}

pub(crate) fn list(revision: u64, instances: impl IntoIterator<Item = Instance>) -> ServiceList {
    ServiceList::new(revision, instances.into_iter().map(Arc::new))
}

/// Instances of this machine with these ports.
pub(crate) fn at(ports: impl IntoIterator<Item = u16>) -> impl Iterator<Item = Instance> {
    ports.into_iter().map(|port| Instance::new(("127.0.0.1", port)))
}

/// Calls of instances of [`ORDERS`] that have not ended.
pub(crate) fn in_flight(directory: &Directory) -> u32 {
    orders(directory).all().iter().map(|endpoint| endpoint.in_flight()).sum()
}

/// A request for [`ORDERS`].
pub(crate) fn get(path: &str) -> Request<String> {
    Request::get(format!("lb://{ORDERS}{path}")).body(String::new()).expect("a URI")
}

/// The port of the instance that a request is sent to.
pub(crate) fn port<B>(request: &Request<B>) -> u16 {
    request.uri().port_u16().expect("an instance has a port")
}

/// Waits until the service is ready, and calls it.
pub(crate) async fn send<S, R>(service: &S, request: R) -> Result<S::Response, S::Error>
where
    S: Service<R> + Clone,
{
    let mut service = service.clone();
    poll_fn(|cx| service.poll_ready(cx)).await?;
    service.call(request).await
}

/// A client that answers by a function. It has a number of slots, of which readiness reserves one and a call returns it when
/// it has ended; a clone has reserved none; a call without a slot fails the test.
#[derive(Clone)]
pub(crate) struct Strict<F> {
    answer: F,
    slots: Slots,
    calls: Arc<AtomicUsize>,
}

struct Slots {
    semaphore: PollSemaphore,
    reserved: Option<OwnedSemaphorePermit>,
}

impl Clone for Slots {
    fn clone(&self) -> Self {
        Self { semaphore: self.semaphore.clone(), reserved: None }
    }
}

impl<F> Strict<F> {
    pub(crate) fn new(slots: usize, answer: F) -> Self {
        let semaphore = PollSemaphore::new(Arc::new(Semaphore::new(slots)));
        Self { answer, slots: Slots { semaphore, reserved: None }, calls: Arc::default() }
    }

    /// How often it or a clone was called.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// Slots that nobody holds.
    pub(crate) fn free(&self) -> usize {
        self.slots.semaphore.available_permits()
    }
}

impl<F, Fut, R> Service<Request<String>> for Strict<F>
where
    F: Fn(Request<String>) -> Fut,
    Fut: Future<Output = io::Result<Response<R>>> + Send + 'static,
{
    type Response = Response<R>;
    type Error = io::Error;
    type Future = BoxFuture<'static, Fut::Output>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.slots.reserved.is_none() {
            self.slots.reserved = ready!(self.slots.semaphore.poll_acquire(cx));
        }
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<String>) -> Self::Future {
        let slot = self.slots.reserved.take().expect("it is called only after it was ready");
        self.calls.fetch_add(1, Ordering::SeqCst);
        (self.answer)(request).inspect(|_| drop(slot)).boxed()
    }
}

/// A body of given frames.
#[derive(Debug, Default)]
pub(crate) struct Script {
    frames: VecDeque<io::Result<Frame<Bytes>>>,
    end: End,
}

/// What comes after the frames.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum End {
    /// The end, which can be seen beforehand.
    #[default]
    Seen,
    /// The end, which is known only when it is asked for.
    Unseen,
    /// Nothing, for ever.
    Never,
}

impl Script {
    /// No frame, and it says so.
    pub(crate) fn empty() -> Self {
        Self::default()
    }

    pub(crate) fn data(mut self) -> Self {
        self.frames.push_back(Ok(Frame::data(Bytes::from_static(b"data"))));
        self
    }

    pub(crate) fn trailers(mut self, status: &'static str) -> Self {
        let trailers = [(HeaderName::from_static("grpc-status"), HeaderValue::from_static(status))];
        self.frames.push_back(Ok(Frame::trailers(HeaderMap::from_iter(trailers))));
        self
    }

    pub(crate) fn broken(mut self) -> Self {
        self.frames.push_back(Err(io::ErrorKind::ConnectionReset.into()));
        self
    }

    pub(crate) fn unseen(mut self) -> Self {
        self.end = End::Unseen;
        self
    }

    pub(crate) fn endless(mut self) -> Self {
        self.end = End::Never;
        self
    }
}

impl Body for Script {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        match this.frames.pop_front() {
            None if this.end == End::Never => Poll::Pending,
            frame => Poll::Ready(frame),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.frames.is_empty() && self.end == End::Seen
    }
}
