//! A gRPC server made with tonic in the ordinary way that answers every request with one constant: the yardstick of what the
//! machine and the libraries allow.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::stream::{self, Pending};
use nacos_proto::grpc::InstanceResponse;
use nacos_proto::{Payload, REQUEST_PATH};
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
    /// Listens on a free port of the loopback interface.
    pub(crate) fn start() -> Result<Self, super::Failure> {
        let incoming = TcpIncoming::bind(SocketAddr::from(([127, 0, 0, 1], 0)))?.with_nodelay(Some(true));
        let address = incoming.local_addr()?;
        let unary = Unary(Payload::encode_json(&InstanceResponse {
            kind: Some("registerInstance".to_owned()),
            ..InstanceResponse::default()
        }));
        let server = Server::builder().add_service(unary).add_service(Bidirectional);
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

fn codec() -> ProstCodec<Payload, Payload> {
    ProstCodec::default()
}

#[derive(Clone)]
struct Unary(Payload);

impl NamedService for Unary {
    const NAME: &'static str = "Request";
}

impl UnaryService<Payload> for Unary {
    type Response = Payload;
    type Future = Ready<Result<Response<Payload>, Status>>;

    fn call(&mut self, _: Request<Payload>) -> Self::Future {
        ready(Ok(Response::new(self.0.clone())))
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

/// Takes the set-up and says nothing.
#[derive(Clone)]
struct Bidirectional;

impl NamedService for Bidirectional {
    const NAME: &'static str = "BiRequestStream";
}

impl StreamingService<Payload> for Bidirectional {
    type Response = Payload;
    type ResponseStream = Pending<Result<Payload, Status>>;
    type Future = Ready<Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, _: Request<Streaming<Payload>>) -> Self::Future {
        ready(Ok(Response::new(stream::pending())))
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
        Box::pin(async move { Ok(Grpc::new(codec()).streaming(Bidirectional, request).await) })
    }
}
