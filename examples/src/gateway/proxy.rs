use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, COOKIE, TRANSFER_ENCODING};
use http::{Extensions, HeaderMap, HeaderValue, Method, Uri, Version};
use http_body::Body as _;
use nacos_discovery::BalanceLayer;
use nacos_discovery::adapters::hyper::HyperSettings;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::client::Client;
use super::tunnel::{Tunnel, is_asked};
use super::{GatewayLimits, Refusal, forwarded, hop_by_hop};

/// A reverse proxy that finds instances by the first segment of the path. Bodies go through as they come, trailers with them.
/// Cheap to clone; with the last clone end the WebSockets.
#[derive(Debug, Clone)]
pub struct Gateway {
    plain: Client,
    grpc: Client,
    closing: CancellationToken,
    _closes: Arc<DropGuard>,
}

impl Gateway {
    /// With the services and the rules of this balancer.
    pub fn new(balance: &BalanceLayer, limits: GatewayLimits) -> Self {
        let closing = CancellationToken::new();
        Self {
            plain: Client::new(balance, HyperSettings::default(), limits),
            // Servers of gRPC speak HTTP/2 from the first byte.
            grpc: Client::new(balance, HyperSettings::default().with_http2(), limits),
            _closes: Arc::new(closing.clone().drop_guard()),
            closing,
        }
    }

    /// The application to serve.
    pub fn router(self) -> Router {
        // Cloned for each request: one reference instead of two clients.
        let gateway = Arc::new(self);
        Router::new().fallback(move |request: Request| async move { gateway.forward(request).await })
    }

    async fn forward(&self, mut request: Request) -> Result<Response, Refusal> {
        let tunnel = Tunnel::asked_for(&mut request);
        let (mut head, body) = request.into_parts();
        if head.method == Method::CONNECT {
            return Err(Refusal::NoService);
        }
        let peer = head.extensions.get().map(|ConnectInfo::<SocketAddr>(peer)| peer.ip());
        let (service, rest) = split(&head.uri).ok_or(Refusal::NoService)?;
        // A port would be passed over, and the service be another one than the path says.
        if service.contains(':') {
            return Err(Refusal::BadName);
        }
        let target = Uri::try_from(format!("lb://{service}{rest}")).map_err(|_| Refusal::BadName)?;

        hop_by_hop::strip(&mut head.headers);
        forwarded::add(&mut head.headers, &head.uri, peer, service);
        let (client, version) = if is_grpc(&head.headers) {
            (&self.grpc, Version::HTTP_2)
        } else {
            hop_by_hop::announce(&mut head.headers);
            if head.version == Version::HTTP_2 {
                join_cookies(&mut head.headers);
            }
            // A GET whose length is not said would be sent as one without a body.
            if !body.is_end_stream() && !head.headers.contains_key(CONTENT_LENGTH) {
                head.headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
            }
            (&self.plain, Version::HTTP_11)
        };
        if tunnel.is_some() {
            Tunnel::ask(&mut head.headers);
        }
        (head.uri, head.version, head.extensions) = (target, version, Extensions::new());

        let mut response = client.request(Request::from_parts(head, body)).await?;
        let agreed = is_asked(response.headers());
        hop_by_hop::strip(response.headers_mut());
        Tunnel::join(tunnel, &mut response, agreed, self.closing.clone())?;
        // The connection to the caller has a version of its own.
        *response.version_mut() = Version::default();
        Ok(response.map(Body::new))
    }
}

/// The name of the service, and the rest of path and query, byte for byte.
fn split(uri: &Uri) -> Option<(&str, &str)> {
    let path = uri.path_and_query()?.as_str().strip_prefix('/')?;
    let (service, rest) = path.split_at(path.find(['/', '?']).unwrap_or(path.len()));
    (!service.is_empty()).then_some((service, rest))
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
