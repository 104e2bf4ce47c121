use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response, Version};
use http_body::Body;
use hyper::body::Incoming;
use hyper_util::client::legacy::{Error, ResponseFuture};
use nacos_discovery::adapters::hyper::{HyperClient, HyperSettings};
use tower_service::Service;

/// Calls instances, over HTTP/2 if that is the version of the request, else over HTTP/1.1. A clone is one reference: every
/// request makes some.
#[derive(Debug)]
pub(super) struct Instances<B>(Arc<Clients<B>>);

#[derive(Debug)]
struct Clients<B> {
    http1: HyperClient<B>,
    http2: HyperClient<B>,
}

impl<B> Instances<B>
where
    B: Body<Data: Send> + Send,
{
    /// `connect`: how long a connection may take to come about.
    pub(super) fn new(connect: Duration) -> Self {
        let settings = HyperSettings::default().with_connect_timeout(connect);
        Self(Arc::new(Clients { http1: settings.build(), http2: settings.with_http2().build() }))
    }
}

impl<B> Service<Request<B>> for Instances<B>
where
    B: Body<Data: Send, Error: Into<crate::Error>> + Send + Unpin + 'static,
{
    type Response = Response<Incoming>;
    type Error = Error;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        // Clients of hyper-util are always ready.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> ResponseFuture {
        let Clients { http1, http2 } = &*self.0;
        let client = if request.version() == Version::HTTP_2 { http2 } else { http1 };
        client.request(request)
    }
}

impl<B> Clone for Instances<B> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
