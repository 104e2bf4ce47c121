//! A client that answers by itself, on paused time, and a balancer with repetitions above it.

use std::io;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Empty;
use nacos_client::Instance;
use nacos_discovery::{
    Attempt, Balance, BalanceError, BalanceLayer, Directory, RetryNext, RetryNextLayer, RetrySettings, ServiceSettings,
    Tried,
};
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

use crate::calling::{CALLED, send};

pub(crate) type Body = Empty<Bytes>;
pub(crate) type Reply = BoxFuture<'static, io::Result<Response<Body>>>;

/// What the client below was asked, and how it answers.
#[derive(Clone)]
pub(crate) struct Below {
    calls: Arc<Mutex<Vec<Call>>>,
    answer: Arc<dyn Fn(&Call) -> Reply + Send + Sync>,
}

#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) authority: String,
    pub(crate) attempt: Option<u32>,
    pub(crate) tried: Option<usize>,
    pub(crate) at: Instant,
}

impl Below {
    pub(crate) fn answering(answer: impl Fn(&Call) -> Reply + Send + Sync + 'static) -> Self {
        Self { calls: Arc::default(), answer: Arc::new(answer) }
    }

    pub(crate) fn always(status: StatusCode) -> Self {
        Self::answering(move |_| reply(status))
    }

    pub(crate) fn broken() -> Self {
        Self::answering(|_| async { Err(io::ErrorKind::ConnectionReset.into()) }.boxed())
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().expect("no test failed with it").clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.calls.lock().expect("no test failed with it").len()
    }
}

impl<B> Service<Request<B>> for Below {
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Reply;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Reply {
        let call = Call {
            authority: request.uri().authority().expect("it was balanced").to_string(),
            attempt: request.extensions().get().map(|attempt: &Attempt| attempt.number()),
            tried: request.extensions().get().map(Tried::len),
            at: Instant::now(),
        };
        self.calls.lock().expect("no test failed with it").push(call.clone());
        (self.answer)(&call)
    }
}

pub(crate) fn reply(status: StatusCode) -> Reply {
    headed(status, &[])
}

pub(crate) fn headed(status: StatusCode, headers: &[(&'static str, &str)]) -> Reply {
    let mut response = Response::new(Body::new());
    *response.status_mut() = status;
    for (name, value) in headers {
        response.headers_mut().insert(*name, value.parse().expect("a value"));
    }
    async { Ok(response) }.boxed()
}

pub(crate) fn instances(count: u8) -> impl Iterator<Item = Instance> {
    (1..=count).map(|host| Instance::new((format!("10.0.0.{host}"), 8080)))
}

/// Nothing is ejected, so that every instance is there for every call.
pub(crate) fn with(retry: RetrySettings) -> ServiceSettings {
    ServiceSettings::default().with_ejection(None).with_retry(retry)
}

pub(crate) fn stack(directory: &Directory, below: &Below) -> RetryNext<Balance<Below>> {
    RetryNextLayer::new(directory).layer(BalanceLayer::new(directory).layer(below.clone()))
}

pub(crate) fn request(method: Method) -> Request<Body> {
    Request::builder().method(method).uri(format!("lb://{CALLED}/")).body(Body::new()).expect("a request")
}

pub(crate) async fn get(directory: &Directory, below: &Below) -> Result<Response<impl Sized + use<>>, BalanceError> {
    send(&mut stack(directory, below), request(Method::GET)).await
}
