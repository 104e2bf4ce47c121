//! A gateway, instances behind it, and callers that look at every byte.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use examples::gateway::{Gateway, GatewayLimits, GatewayServices};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use nacos_client::Instance;
use nacos_discovery::{BalanceLayer, BalanceSettings, Directory, InMemoryDiscovery, ServiceSettings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio::time::timeout;

/// A name that only byte for byte is the same.
pub(crate) const SERVICE: &str = "Order_Service.v2";
const FREE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// The gateway, which ends with this.
pub(crate) struct World {
    pub(crate) address: SocketAddr,
    pub(crate) directory: Directory,
    serving: AbortHandle,
}

impl World {
    /// In front of these instances of [`SERVICE`].
    pub(crate) async fn before(instances: impl IntoIterator<Item = SocketAddr>) -> Self {
        Self::with(GatewayLimits::default(), instances).await
    }

    pub(crate) async fn with(limits: GatewayLimits, instances: impl IntoIterator<Item = SocketAddr>) -> Self {
        let source = InMemoryDiscovery::new().with(SERVICE, instances.into_iter().map(Instance::new));
        let directory = Directory::new(Arc::new(source), BalanceSettings::new(ServiceSettings::default()));
        let services = GatewayServices::listed("Order_Service.*, orders, nobody, gateway").without("gateway");
        let router = Gateway::new(&BalanceLayer::new(directory.clone()), services, limits).router();
        let (address, serving) = serve(router).await;
        Self { address, directory, serving }
    }

    /// The URI of a path of [`SERVICE`].
    pub(crate) fn uri(&self, path: &str) -> String {
        format!("http://{}/{SERVICE}{path}", self.address)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// An application on a free port.
pub(crate) async fn serve(app: Router) -> (SocketAddr, AbortHandle) {
    let (listener, address) = listen().await;
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    (address, tokio::spawn(async move { axum::serve(listener, app).await }).abort_handle())
}

pub(crate) async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(FREE).await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    (listener, address)
}

/// An instance that answers one request with these bytes, and then ends the connection.
pub(crate) async fn answering(answer: &'static [u8]) -> (SocketAddr, tokio::task::JoinHandle<String>) {
    let (listener, address) = listen().await;
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let head = read_head(&mut stream).await;
        stream.write_all(answer).await.expect("it is taken");
        head
    });
    (address, served)
}

/// The head of a message, with the empty line at its end.
pub(crate) async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(in_time(stream.read_u8()).await.expect("a whole head"));
    }
    String::from_utf8(head).expect("text")
}

/// All that the gateway answers to these bytes, until it ends the connection.
pub(crate) async fn raw(gateway: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(gateway).await.expect("it listens");
    stream.write_all(request.as_bytes()).await.expect("it is taken");
    let mut answer = Vec::new();
    in_time(stream.read_to_end(&mut answer)).await.expect("an end");
    String::from_utf8(answer).expect("text")
}

pub(crate) fn client() -> Client<HttpConnector, Body> {
    Client::builder(TokioExecutor::new()).build_http()
}

pub(crate) fn http2_client() -> Client<HttpConnector, Body> {
    Client::builder(TokioExecutor::new()).http2_only(true).build_http()
}

/// Nothing here takes so long.
pub(crate) async fn in_time<F: Future>(future: F) -> F::Output {
    timeout(Duration::from_secs(30), future).await.expect("it takes no 30 s")
}
