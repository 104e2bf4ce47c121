//! Logging in, and letting in only who has.

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequest, OriginalUri, Request, State};
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::Response;
use axum::routing::post;
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use nacos_proto::http::LoginAnswer;

use super::params::{MAX_FORM, Params};
use super::reply;
use super::service::Shared;
use crate::auth::{Denial, Pass};

/// What real servers say where everybody is let in.
const NO_LOGIN: &str = "AUTH_DISABLED";
/// Told with it, in seconds.
const NO_LOGIN_LIFE: i64 = 18_000;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/v1/auth/login", post(log_in))
        .route("/v1/auth/users/login", post(log_in))
        .route("/v3/auth/user/login", post(log_in))
}

async fn log_in(State(context): State<Shared>, params: Params) -> Response {
    let name = params.get("username").unwrap_or_default();
    let (token, life) = match &context.guard {
        None => (Some(NO_LOGIN.to_owned()), NO_LOGIN_LIFE),
        Some(guard) => {
            let life = i64::try_from(guard.life.as_secs()).unwrap_or(i64::MAX);
            (guard.log_in(name, params.get("password").unwrap_or_default()), life)
        }
    };
    let Some(token) = token else {
        context.counters.logins_refused.add();
        return reply::text(403, Denial::Unknown.text());
    };
    context.counters.logins.add();
    let bearer = format!("Bearer {token}");
    let answer = LoginAnswer {
        access_token: Some(token),
        token_ttl: Some(life),
        global_admin: true,
        username: Some(name.to_owned()),
    };
    let mut response = reply::json_of(200, &answer);
    if let Ok(bearer) = bearer.parse() {
        response.headers_mut().insert(header::AUTHORIZATION, bearer);
    }
    response
}

/// Lets only users through, if there are any, to paths that exist.
pub(super) async fn users_only(State(context): State<Shared>, request: Request, next: Next) -> Response {
    let Some(guard) = context.guard.as_ref() else { return next.run(request).await };
    let path = request.extensions().get::<OriginalUri>().map_or_else(|| request.uri().path(), |uri| uri.0.path());
    if is_open(request.method(), path) {
        return next.run(request).await;
    }
    let path = path.to_owned();
    let Some((request, params)) = params_of(request).await else {
        return reply::error_page(403, "Forbidden", Denial::Unknown.text(), &path);
    };
    let bearer = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    match guard.admit(Pass::of(bearer, |name| params.get(name))) {
        Ok(()) => next.run(request).await,
        Err(denial) => {
            context.counters.denials.add();
            reply::error_page(403, "Forbidden", denial.text(), &path)
        }
    }
}

/// What real servers tell everybody.
fn is_open(method: &Method, path: &str) -> bool {
    let path = path.strip_prefix("/nacos").unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    let operator = ["/v1/ns/operator/", "/v1/ns/ops/"].iter().any(|prefix| path.starts_with(prefix));
    match path {
        "/v1/auth/login" | "/v1/auth/users/login" | "/v3/auth/user/login" => true,
        "/v1/ns/instance/statuses" => true,
        _ if method != Method::GET => false,
        "/v1/ns/health/server" | "/v1/ns/health/checkers" => true,
        "/v1/console/server/state" | "/v1/console/namespaces" => true,
        _ => {
            operator
                || path.starts_with("/v1/console/health/")
                || path.starts_with("/v2/console/health/")
                || path.starts_with("/v3/admin/core/state")
                || path.starts_with("/v3/console/health/")
                || path.starts_with("/v3/console/server/")
        }
    }
}

/// The parameters of a request, which stays as it is. `None` if its body cannot be read.
async fn params_of(request: Request) -> Option<(Request, Params)> {
    let (head, body) = request.into_parts();
    // What is larger has no parameters, for the handler either.
    let body = Limited::new(body, MAX_FORM).collect().await.ok()?.to_bytes();
    let again = |body: Bytes| Request::from_parts(head.clone(), Body::from(body));
    let params = Params::from_request(again(body.clone()), &()).await.ok()?;
    Some((again(body), params))
}
