//! `balance_channel` of tonic over real servers on the loopback interface, which behave as the simulated instances do.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::uri::PathAndQuery;
use tokio::net::TcpListener;
use tokio::sync::mpsc::Sender;
use tokio::task::JoinHandle;
use tonic::body::Body;
use tonic::server::{NamedService, UnaryService};
use tonic::transport::channel::Change;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

use super::Failure;
use super::pickers_fleet::{Behaviour, Client, Fleet};

const METHOD: &str = "/bench.Simulated/Call";

/// Messages without fields: the least that a call can carry.
fn codec() -> ProstCodec<(), ()> {
    ProstCodec::default()
}

/// With the first so many instances.
pub(crate) async fn client(fleet: Arc<Fleet>, count: usize) -> Result<Box<dyn Client>, Failure> {
    let mut servers = Vec::new();
    for number in 0..fleet.len() {
        servers.push(Instance::start(&fleet, number).await?);
    }
    let (channel, changes) = Channel::balance_channel(fleet.len());
    let tonic = Tonic { channel, changes, servers };
    for number in 0..count {
        tonic.add(number).await?;
    }
    Ok(Box::new(tonic))
}

struct Tonic {
    channel: Channel,
    changes: Sender<Change<usize, Endpoint>>,
    servers: Vec<Instance>,
}

impl Client for Tonic {
    fn call(&self) -> BoxFuture<'static, bool> {
        let mut grpc = tonic::client::Grpc::new(self.channel.clone());
        async move {
            if grpc.ready().await.is_err() {
                return false;
            }
            grpc.unary(Request::new(()), PathAndQuery::from_static(METHOD), codec()).await.is_ok()
        }
        .boxed()
    }

    fn add(&self, number: usize) -> BoxFuture<'static, Result<(), Failure>> {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.servers[number].address));
        let changes = self.changes.clone();
        async move {
            let endpoint = endpoint?.tcp_nodelay(true);
            changes.send(Change::Insert(number, endpoint)).await.map_err(|_| "the channel has ended")?;
            Ok(())
        }
        .boxed()
    }
}

/// A server; dropping it ends it.
struct Instance {
    address: SocketAddr,
    task: Option<JoinHandle<()>>,
}

impl Instance {
    async fn start(fleet: &Arc<Fleet>, number: usize) -> Result<Self, Failure> {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let address = listener.local_addr()?;
        // Of the instance that does not listen, the port was free a moment ago.
        let listens = fleet.behaviour(number) != Behaviour::Refuses;
        let task = listens.then(|| {
            let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
            let server = Server::builder().add_service(Simulated { fleet: Arc::clone(fleet), number });
            // Ends when the handle is dropped.
            tokio::spawn(async move { drop(server.serve_with_incoming(incoming).await) })
        });
        Ok(Self { address, task })
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

#[derive(Debug, Clone)]
struct Simulated {
    fleet: Arc<Fleet>,
    number: usize,
}

impl NamedService for Simulated {
    const NAME: &'static str = "bench.Simulated";
}

impl UnaryService<()> for Simulated {
    type Response = ();
    type Future = BoxFuture<'static, Result<Response<()>, Status>>;

    fn call(&mut self, _: Request<()>) -> Self::Future {
        let Self { fleet, number } = self.clone();
        async move {
            let served = fleet.serve(number).await;
            served.map(Response::new).map_err(|error| Status::unavailable(error.to_string()))
        }
        .boxed()
    }
}

impl tonic::codegen::Service<http::Request<Body>> for Simulated {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<http::Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let service = self.clone();
        async move { Ok(tonic::server::Grpc::new(codec()).unary(service, request).await) }.boxed()
    }
}
