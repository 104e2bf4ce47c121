//! The gateway of the examples, and a proxy that does nothing but send requests on. Both are served by the same loop, and both
//! call the same client of hyper-util.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use examples::gateway::{Gateway, GatewayLimits, GatewayServices};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{Either, Empty};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use nacos_client::Instance;
use nacos_discovery::adapters::hyper::HyperSettings;
use nacos_discovery::{BalanceLayer, BalanceSettings, Directory, InMemoryDiscovery};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;
use tower_service::Service;

use super::Failure;

/// A proxy on a port of its own; dropping it ends it.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    _serving: AbortOnDropHandle<()>,
}

/// The service of the gateway.
pub(crate) const SERVICE: &str = "orders";

/// Ours, whose registry is known already.
pub(crate) async fn ours(instances: &[SocketAddr]) -> Result<Proxy, Failure> {
    let source = InMemoryDiscovery::new().with(SERVICE, instances.iter().copied().map(Instance::new));
    let directory = Directory::new(Arc::new(source), BalanceSettings::default());
    directory.endpoints_named("", SERVICE)?.ready().await?;
    let services = GatewayServices::listed(SERVICE);
    let router = Gateway::new(&BalanceLayer::new(directory), services, GatewayLimits::default()).router();
    let (listener, address) = listen().await?;
    // Ends when the proxy is dropped.
    let serving = tokio::spawn(async move {
        while let Ok((stream, peer)) = listener.accept().await {
            let router = router.clone();
            serve(stream, move |request| answer(router.clone(), peer, request));
        }
    });
    Ok(Proxy { address, _serving: AbortOnDropHandle::new(serving) })
}

async fn answer(
    mut router: Router,
    peer: SocketAddr,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    request.extensions_mut().insert(ConnectInfo(peer));
    Service::<Request<Body>>::call(&mut router, request.map(Body::new)).await
}

/// The peer: instances in turn, headers and bodies as they come.
pub(crate) async fn bare(instances: &[SocketAddr]) -> Result<Proxy, Failure> {
    let authorities = instances.iter().map(|address| address.to_string().parse()).collect::<Result<Vec<_>, _>>()?;
    let bare = Bare { client: HyperSettings::default().build(), authorities: authorities.into(), next: Arc::default() };
    let (listener, address) = listen().await?;
    // Ends when the proxy is dropped.
    let serving = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let bare = bare.clone();
            serve(stream, move |request| bare.clone().forward(request));
        }
    });
    Ok(Proxy { address, _serving: AbortOnDropHandle::new(serving) })
}

#[derive(Clone)]
struct Bare {
    client: Client<HttpConnector, Incoming>,
    authorities: Arc<[Authority]>,
    next: Arc<AtomicUsize>,
}

impl Bare {
    async fn forward(
        self,
        mut request: Request<Incoming>,
    ) -> Result<Response<Either<Incoming, Empty<bytes::Bytes>>>, Infallible> {
        let next = self.next.fetch_add(1, Ordering::Relaxed) % self.authorities.len();
        let mut parts = std::mem::take(request.uri_mut()).into_parts();
        parts.scheme = Some(Scheme::HTTP);
        parts.authority = Some(self.authorities[next].clone());
        parts.path_and_query.get_or_insert_with(|| PathAndQuery::from_static("/"));
        *request.uri_mut() = Uri::from_parts(parts).unwrap_or_default();
        Ok(match self.client.request(request).await {
            Ok(response) => response.map(Either::Left),
            Err(_) => {
                let mut response = Response::new(Either::Right(Empty::new()));
                *response.status_mut() = StatusCode::BAD_GATEWAY;
                response
            }
        })
    }
}

async fn listen() -> Result<(TcpListener, SocketAddr), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Serves a connection in a task of its own, which ends with it.
fn serve<A, F, B>(stream: tokio::net::TcpStream, answer: A)
where
    A: Fn(Request<Incoming>) -> F + Send + 'static,
    F: Future<Output = Result<Response<B>, Infallible>> + Send + 'static,
    B: http_body::Body<Data = bytes::Bytes, Error: Into<Failure>> + Send + 'static,
{
    tokio::spawn(async move {
        let _ = stream.set_nodelay(true);
        let mut builder = Builder::new(TokioExecutor::new());
        builder.http1().timer(TokioTimer::new());
        builder.http2().timer(TokioTimer::new());
        let _ = builder.serve_connection_with_upgrades(TokioIo::new(stream), service_fn(answer)).await;
    });
}
