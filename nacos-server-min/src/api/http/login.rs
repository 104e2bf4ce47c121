//! Logging in, and letting in only who has.

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::Response;
use axum::routing::post;
use nacos_proto::http::LoginAnswer;

use super::params::{self, NoForm, Params};
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
    let (head, body) = request.into_parts();
    let path = params::asked_path(&head.extensions, &head.uri);
    if is_open(&head.method, path) {
        return next.run(Request::from_parts(head, body)).await;
    }
    let denied = |denial: Denial| {
        context.counters.denials.add();
        reply::error_page(403, "Forbidden", denial.text(), path)
    };
    let bearer = head.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let query = Params::of_query(head.uri.query().unwrap_or_default());
    let pass = Pass::of(bearer, |name| query.get(name));
    let (verdict, body) = if pass.token.is_some() || !params::has_form(&head) {
        (guard.admit(pass), body)
    } else {
        // What is shown may stand in the form, of which the handler is to have all.
        match params::form(&head, body).await {
            Ok(form) => {
                let params = Params::of(&head, &form);
                (guard.admit(Pass::of(bearer, |name| params.get(name))), Body::from(form))
            }
            Err(NoForm::TooLarge) => return params::too_large(&head),
            Err(NoForm::CutOff) => return denied(Denial::Unknown),
        }
    };
    match verdict {
        Ok(()) => next.run(Request::from_parts(head, body)).await,
        Err(denial) => denied(denial),
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
