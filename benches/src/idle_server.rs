//! A gRPC server made with tonic in the ordinary way that answers every request with one constant: the yardstick of what the
//! machine and the libraries allow.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::stream::{self, Stream, StreamExt};
use nacos_proto::grpc::InstanceResponse;
use nacos_proto::{Payload, REQUEST_PATH};
use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, StreamingService, UnaryService};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;

/// The server; dropping it ends it.
#[derive(Debug)]
pub(crate) struct IdleServer {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl IdleServer {
    /// Listens on a free port of the loopback interface. With every request, all streams get a constant list of so many bytes;
    /// nothing if 0.
    pub(crate) fn start(pushed: usize) -> Result<Self, super::Failure> {
        let incoming = TcpIncoming::bind(SocketAddr::from(([127, 0, 0, 1], 0)))?.with_nodelay(Some(true));
        let address = incoming.local_addr()?;
        let answer = Payload::encode_json(&InstanceResponse {
            kind: Some("registerInstance".to_owned()),
            ..InstanceResponse::default()
        });
        let list = (pushed > 0).then(|| Payload::new("NotifySubscriberRequest", vec![b' '; pushed].into()));
        let streams = broadcast::Sender::new(WAITING);
        let unary = Unary { answer, list, streams: streams.clone() };
        let server = Server::builder().add_service(unary).add_service(Bidirectional(streams));
        // Ends when the handle is dropped.
        let task = tokio::spawn(async move { drop(server.serve_with_incoming(incoming).await) });
        Ok(Self { address, task })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for IdleServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

type Called = Pin<Box<dyn Future<Output = Result<http::Response<Body>, Infallible>> + Send>>;

type Lists = Pin<Box<dyn Stream<Item = Result<Payload, Status>> + Send>>;

/// Lists that a slow stream may lag behind by.
const WAITING: usize = 64;

fn codec() -> ProstCodec<Payload, Payload> {
    ProstCodec::default()
}

#[derive(Clone)]
struct Unary {
    answer: Payload,
    list: Option<Payload>,
    streams: broadcast::Sender<Payload>,
}

impl NamedService for Unary {
    const NAME: &'static str = "Request";
}

impl UnaryService<Payload> for Unary {
    type Response = Payload;
    type Future = Ready<Result<Response<Payload>, Status>>;

    fn call(&mut self, _: Request<Payload>) -> Self::Future {
        if let Some(list) = &self.list {
            // Nobody listening is no failure.
            drop(self.streams.send(list.clone()));
        }
        ready(Ok(Response::new(self.answer.clone())))
    }
}

impl tonic::codegen::Service<http::Request<Body>> for Unary {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Called;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Called {
        let service = self.clone();
        Box::pin(async move {
            if request.uri().path() != REQUEST_PATH {
                return Ok(Status::unimplemented("unknown method").into_http());
            }
            Ok(Grpc::new(codec()).unary(service, request).await)
        })
    }
}

/// Takes the set-up and says what it is told to.
#[derive(Clone)]
struct Bidirectional(broadcast::Sender<Payload>);

impl NamedService for Bidirectional {
    const NAME: &'static str = "BiRequestStream";
}

impl StreamingService<Payload> for Bidirectional {
    type Response = Payload;
    type ResponseStream = Lists;
    type Future = Ready<Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, _: Request<Streaming<Payload>>) -> Self::Future {
        let lists = stream::unfold(self.0.subscribe(), async |mut lists| Some((lists.recv().await.ok()?, lists)));
        ready(Ok(Response::new(Box::pin(lists.map(Ok)))))
    }
}

impl tonic::codegen::Service<http::Request<Body>> for Bidirectional {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Called;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Called {
        let service = self.clone();
        Box::pin(async move { Ok(Grpc::new(codec()).streaming(service, request).await) })
    }
}
