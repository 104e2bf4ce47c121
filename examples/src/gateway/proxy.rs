use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, COOKIE, TRANSFER_ENCODING};
use http::{Extensions, HeaderMap, HeaderValue, Method, Uri, Version};
use http_body::Body as _;
use nacos_discovery::BalanceLayer;
use tokio_util::sync::{CancellationToken, DropGuard};
use tower_service::Service;

use super::client::{Client, client};
use super::forwarding::Forwarding;
use super::tunnel::Tunnel;
use super::{GatewayLimits, GatewayServices, Refusal, forwarded, hop_by_hop};

/// A reverse proxy that finds instances by the first segment of the path. Bodies go through as they come, trailers with them.
/// Cheap to clone; with the last clone end the WebSockets.
#[derive(Debug, Clone)]
pub struct Gateway {
    client: Client,
    shared: Arc<Shared>,
}

/// What all clones have in common.
#[derive(Debug)]
struct Shared {
    services: GatewayServices,
    limits: GatewayLimits,
    closing: CancellationToken,
    _closes: DropGuard,
}

impl Gateway {
    /// To these services, with the rules of this balancer.
    pub fn new(balance: &BalanceLayer, services: GatewayServices, limits: GatewayLimits) -> Self {
        let closing = CancellationToken::new();
        let shared = Shared { services, limits, _closes: closing.clone().drop_guard(), closing };
        Self { client: client(balance, limits), shared: Arc::new(shared) }
    }

    /// The application to serve.
    pub fn router(self) -> Router {
        Router::new().fallback_service(self)
    }

    /// Turns a request of a caller into one to an instance.
    fn prepare(&self, mut request: Request) -> Result<(Request, Option<Tunnel>), Refusal> {
        let Shared { services, limits, closing, .. } = &*self.shared;
        let tunnel = Tunnel::asked_for(&mut request, limits.tunnel_idle, closing);
        let (mut head, body) = request.into_parts();
        if head.method == Method::CONNECT {
            return Err(Refusal::NoService);
        }
        let peer = head.extensions.get().map(|ConnectInfo::<SocketAddr>(peer)| peer.ip());
        let (prefix, rest) = split(&head.uri).ok_or(Refusal::NoService)?;
        // A port would be passed over, and the service be another one than the path says.
        if prefix.contains(':') {
            return Err(Refusal::BadName);
        }
        let target = Uri::try_from(["lb:/", prefix, rest].concat()).map_err(|_| Refusal::BadName)?;
        services.admit(target.host().unwrap_or_default())?;

        hop_by_hop::strip(&mut head.headers);
        forwarded::add(&mut head.headers, &head.uri, peer, prefix);
        let version = if is_grpc(&head.headers) {
            // Servers of gRPC speak HTTP/2 from the first byte.
            Version::HTTP_2
        } else {
            hop_by_hop::announce(&mut head.headers);
            if head.version == Version::HTTP_2 {
                join_cookies(&mut head.headers);
            }
            // A GET whose length is not said would be sent as one without a body.
            if !body.is_end_stream() && !head.headers.contains_key(CONTENT_LENGTH) {
                head.headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
            }
            Version::HTTP_11
        };
        if tunnel.is_some() {
            Tunnel::ask(&mut head.headers);
        }
        (head.uri, head.version, head.extensions) = (target, version, Extensions::new());
        Ok((Request::from_parts(head, body), tunnel))
    }
}

impl Service<Request> for Gateway {
    type Response = axum::response::Response;
    type Error = Infallible;
    type Future = Forwarding;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        let ready = ready!(Service::<Request>::poll_ready(&mut self.client, cx));
        ready.expect("clients of hyper-util are always ready");
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Forwarding {
        match self.prepare(request) {
            Ok((request, tunnel)) => Forwarding::asking(self.client.call(request), tunnel),
            Err(refusal) => Forwarding::refused(refusal),
        }
    }
}

/// The name of the service with the slash before it, and the rest of path and query, byte for byte.
fn split(uri: &Uri) -> Option<(&str, &str)> {
    let path = uri.path_and_query()?.as_str();
    let name = path.strip_prefix('/')?;
    let end = name.find(['/', '?']).unwrap_or(name.len());
    (end > 0).then(|| path.split_at(end + 1))
}

/// HTTP/2 may have each cookie in a header of its own, HTTP/1.1 has all of them in one.
fn join_cookies(headers: &mut HeaderMap) {
    let crumbs: Vec<&[u8]> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if crumbs.len() > 1
        && let Ok(cookies) = HeaderValue::from_bytes(&crumbs.join(&b"; "[..]))
    {
        headers.insert(COOKIE, cookies);
    }
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let media = headers.get(CONTENT_TYPE).and_then(|value| value.as_bytes().strip_prefix(b"application/grpc"));
    media.is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
}
