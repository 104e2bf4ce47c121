use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use serde::Serialize;

const TEXT: HeaderValue = HeaderValue::from_static("text/plain;charset=UTF-8");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

fn reply(status: u16, content_type: HeaderValue, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

pub(super) fn text(status: u16, text: impl Into<String>) -> Response {
    reply(status, TEXT, text.into())
}

pub(super) fn json(body: Bytes) -> Response {
    reply(200, JSON, body)
}

pub(super) fn json_of(status: u16, value: &impl Serialize) -> Response {
    // The values are maps with text keys, which JSON always holds.
    reply(status, JSON, serde_json::to_vec(value).unwrap_or_default())
}

/// The envelope of v2 and v3.
pub(super) fn envelope(status: u16, code: i32, message: &str, data: &impl Serialize) -> Response {
    json_of(status, &serde_json::json!({ "code": code, "message": message, "data": data }))
}

/// What the framework of the real server says about requests that reach no handler.
pub(super) fn error_page(status: u16, error: &str, message: &str, path: &str) -> Response {
    let page = serde_json::json!({ "status": status, "error": error, "message": message, "path": path });
    json_of(status, &page)
}
