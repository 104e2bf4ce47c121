use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{OriginalUri, Request, State};
use axum::http::{Method, Uri};
use axum::middleware::Next;
use axum::response::Response;
use axum::routing::get;
use futures_util::future::Either;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

use super::caller::PeerAddress;
use super::{console, loader, login, modern, namespaces, negotiate, node, reply, v1};
use crate::context::Context;

/// Serves the connections of the HTTP port.
#[derive(Clone)]
pub(crate) struct HttpService {
    context: Shared,
    router: TowerToHyperService<Router>,
}

type Routed = <TowerToHyperService<Router> as Service<http::Request<Incoming>>>::Future;

impl HttpService {
    /// Answers a request of the connection that comes from `remote`.
    pub(crate) fn answer(
        &self,
        mut request: http::Request<Incoming>,
        remote: SocketAddr,
    ) -> Either<Ready<Result<Response, Infallible>>, Routed> {
        // Where not everybody is let in, nobody is answered before he has been looked at.
        if self.context.guard.is_none()
            && let Some(answer) = v1::at_once(&self.context, &request)
        {
            return Either::Left(ready(Ok(answer)));
        }
        request.extensions_mut().insert(PeerAddress(remote));
        Either::Right(self.router.call(request))
    }
}

/// What handlers are given.
pub(super) type Shared = Arc<Context>;

/// Where the API lives.
const CONTEXT_PATH: &str = "/nacos";

pub(crate) fn http_service(context: &Arc<Context>) -> HttpService {
    let paths = console::probes()
        .merge(api())
        .merge(namespaces::routes())
        .merge(node::routes())
        .merge(loader::routes())
        .merge(login::routes())
        .merge(modern::routes())
        .merge(v1::routes());
    let router = Router::new()
        .nest(CONTEXT_PATH, paths)
        // The console of 3.x has no context path.
        .merge(console::probes())
        .merge(namespaces::console_routes())
        .merge(modern::console_routes())
        .merge(node::console_routes())
        .route_layer(axum::middleware::from_fn_with_state(Arc::clone(context), login::users_only))
        .fallback(unknown)
        .method_not_allowed_fallback(unknown)
        .layer(axum::middleware::from_fn_with_state(Arc::clone(context), count))
        .layer(axum::middleware::from_fn(negotiate::negotiate))
        .with_state(Arc::clone(context));
    // What changes the path has to come before the path is looked at.
    let outer = Router::new().fallback_service(router).layer(axum::middleware::map_request(without_trailing_slash));
    HttpService { context: Arc::clone(context), router: TowerToHyperService::new(outer) }
}

fn api() -> Router<Shared> {
    Router::new().route("/v3/admin/core/state", get(console::state_v3))
}

/// Servers before 3.x take `/path/` for `/path`.
async fn without_trailing_slash(mut request: Request) -> Result<Request, Infallible> {
    let path = request.uri().path();
    let old = path.starts_with("/nacos/v1/") || path.starts_with("/nacos/v2/");
    if old && let Some(path) = path.strip_suffix('/') {
        let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
        if let Ok(uri) = format!("{path}{query}").parse::<Uri>() {
            *request.uri_mut() = uri;
        }
    }
    Ok(request)
}

/// Under `/v1/ns` an unknown path or method is not implemented, elsewhere not found.
pub(super) async fn unknown(method: Method, OriginalUri(uri): OriginalUri) -> Response {
    let path = uri.path();
    if path.starts_with("/nacos/v1/ns/") {
        reply::error_page(501, "Not Implemented", &format!("no such api:{method}:{path}"), path)
    } else if path.starts_with("/nacos/v3/") {
        reply::error_page(404, "Not Found", &format!("No endpoint {method} {path}."), path)
    } else if path.starts_with("/nacos/") || path.starts_with("/v3/") {
        reply::error_page(404, "Not Found", "No message available", path)
    } else {
        reply::no_such_page()
    }
}

async fn count(State(context): State<Shared>, request: Request, next: Next) -> Response {
    context.counters.http_requests.add();
    if let Some(refusal) = v1::refused(&context, &request) {
        return refusal;
    }
    next.run(request).await
}
