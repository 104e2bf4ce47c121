use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use axum::response::Response;

use crate::context::Context;
use crate::ops::ServerStatus;

/// The answer to a request that is not let in: its path is limited, or the server is in no state to answer it.
pub(in crate::api::http) fn refused<B>(context: &Context, request: &Request<B>) -> Option<Response> {
    let path = request.uri().path();
    if !path.starts_with("/nacos/v1/ns/") {
        return None;
    }
    let (limit, overridden) = {
        let switches = context.switches();
        let limit = switches.limited_url_map.iter().find(|(prefix, _)| path.starts_with(prefix.as_str()));
        (limit.map(|(_, status)| *status), switches.overridden_status())
    };
    if let Some(limit) = limit {
        return Some(plain(limit, ""));
    }
    let actual = if context.ready() { ServerStatus::Up } else { ServerStatus::Down };
    let open = match overridden.unwrap_or(actual) {
        ServerStatus::Up => true,
        ServerStatus::WriteOnly => request.method() != Method::GET,
        ServerStatus::ReadOnly => request.method() == Method::GET,
        ServerStatus::Down | ServerStatus::Starting | ServerStatus::Paused => false,
    };
    // Another server knows what it does.
    let server =
        request.headers().get(header::USER_AGENT).is_some_and(|agent| agent.as_bytes().starts_with(b"Nacos-Server"));
    (!open && !server).then(|| plain(503, "server is DOWNnow, please try again later!"))
}

/// What a filter writes has no type.
fn plain(status: u16, text: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::FORBIDDEN);
    response
}
