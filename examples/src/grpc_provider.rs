use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use nacos_client::{Instance, NamingService, Registration};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::transport::server::{Server, TcpIncoming};
use tonic::{Request, Response, Status};

use crate::Error;
use crate::greeter::greeter_server::{Greeter, GreeterServer};
use crate::greeter::{HelloReply, HelloRequest};

/// One process's worth of gRPC provider: a server of tonic, and a client of its own that registers it.
#[derive(Debug)]
pub struct GrpcProvider {
    addr: SocketAddr,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<Result<(), tonic::transport::Error>>,
    nacos: NamingService,
    registration: Registration,
}

impl GrpcProvider {
    /// Greets on a free port, and is registered with this weight.
    ///
    /// # Errors
    ///
    /// If there is no port, or the registry does not confirm.
    pub async fn start(registry: &str, service: &str, weight: f64) -> Result<Self, Error> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let addr = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let greeter = GreeterServer::new(Host { addr });
        // Ends when `stop` is dropped, after the calls under way.
        let serving = tokio::spawn(async move {
            let stopped = async move { drop(stopped.await) };
            Server::builder()
                .add_service(greeter)
                .serve_with_incoming_shutdown(TcpIncoming::from(listener), stopped)
                .await
        });
        let nacos = NamingService::builder().servers([registry]).build()?;
        let registration = nacos.service(service)?.register(Instance::new(addr).weight(weight))?;
        registration.confirmed().await?;
        Ok(Self { addr, stop, serving, nacos, registration })
    }

    /// Where it listens, as it answers and as it is listed.
    pub fn address(&self) -> String {
        self.addr.to_string()
    }

    /// First out of the registry, then out of service: nobody is sent to a closed door.
    ///
    /// # Errors
    ///
    /// If the registry does not confirm, or serving failed.
    pub async fn stop(self) -> Result<(), Error> {
        self.registration.withdraw().await?;
        self.nacos.shutdown(Duration::from_secs(5)).await;
        drop(self.stop);
        Ok(self.serving.await??)
    }
}

/// Greets, and says who does.
#[derive(Debug)]
struct Host {
    addr: SocketAddr,
}

#[tonic::async_trait]
impl Greeter for Host {
    async fn say_hello(&self, request: Request<HelloRequest>) -> Result<Response<HelloReply>, Status> {
        let text = format!("Hello, {}!", request.into_inner().name);
        Ok(Response::new(HelloReply { text, from: self.addr.to_string() }))
    }
}
