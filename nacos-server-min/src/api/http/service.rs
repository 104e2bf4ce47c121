use std::sync::Arc;

use axum::Router;
use axum::extract::{OriginalUri, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use axum::routing::get;
use hyper_util::service::TowerToHyperService;

use super::{console, instance, reply};
use crate::context::Context;

/// Serves the connections of the HTTP port.
pub(crate) type HttpService = TowerToHyperService<Router>;

/// What handlers are given.
pub(super) type Shared = Arc<Context>;

/// Where the API lives.
const CONTEXT_PATH: &str = "/nacos";

pub(crate) fn http_service(context: &Arc<Context>) -> HttpService {
    // The console of 3.x has no context path, so its probes are asked for without one.
    let router = Router::new()
        .nest(CONTEXT_PATH, console::probes().merge(api()))
        .merge(console::probes())
        .fallback(unknown)
        .method_not_allowed_fallback(unknown)
        .layer(axum::middleware::from_fn_with_state(Arc::clone(context), count))
        .with_state(Arc::clone(context));
    TowerToHyperService::new(router)
}

fn api() -> Router<Shared> {
    let list = get(instance::list).head(unknown);
    let metrics = || get(console::metrics).head(unknown);
    Router::new()
        .route("/v1/ns/instance", axum::routing::post(instance::register).delete(instance::deregister))
        .route("/v1/ns/instance/list", list)
        .route("/v1/ns/operator/metrics", metrics())
        .route("/v1/ns/ops/metrics", metrics())
        .route("/v2/ns/operator/metrics", get(console::metrics_v2))
        .route("/v2/ns/ops/metrics", get(console::metrics_v2))
        .route("/v3/admin/ns/ops/metrics", get(console::metrics_v2))
        .route("/v3/admin/core/state", get(console::state_v3))
}

/// Under `/v1/ns` an unknown path or method is not implemented, elsewhere not found.
async fn unknown(method: Method, OriginalUri(uri): OriginalUri) -> Response {
    let path = uri.path();
    if path.starts_with("/nacos/v1/ns/") {
        reply::error_page(501, "Not Implemented", &format!("no such api:{method}:{path}"), path)
    } else {
        reply::error_page(404, "Not Found", "No message available", path)
    }
}

async fn count(State(context): State<Shared>, request: Request, next: Next) -> Response {
    context.counters.http_requests.add();
    if !context.ready() && request.uri().path().starts_with("/nacos/v1/ns/") {
        return reply::text(503, "server is DOWNnow, please try again later!");
    }
    next.run(request).await
}
