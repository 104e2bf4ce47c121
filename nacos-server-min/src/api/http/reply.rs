use std::time::{SystemTime, UNIX_EPOCH};

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use nacos_proto::param::ParamError;
use serde::Serialize;
use serde_json::json;

pub(super) const TEXT: HeaderValue = HeaderValue::from_static("text/plain;charset=UTF-8");
pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// An answer that ends a handler early.
pub(super) type Refusal = Box<Response>;

/// What a handler comes to; a refusal is an answer like any other.
pub(super) fn settle(outcome: Result<Response, Refusal>) -> Response {
    outcome.unwrap_or_else(|refusal| *refusal)
}

/// Marks an answer that names an error, for those who prefer to read it as a page.
#[derive(Debug, Clone)]
pub(super) struct ErrorPage {
    pub(super) status: u16,
    pub(super) error: String,
    pub(super) message: String,
}

pub(super) fn reply(status: u16, content_type: HeaderValue, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

pub(super) fn text(status: u16, text: impl Into<String>) -> Response {
    reply(status, TEXT, text.into())
}

/// The text of the parameter filter, which ends in a line break and has no content type.
pub(super) fn filtered(error: &ParamError) -> Refusal {
    let mut response = text(400, format!("{error}\r\n"));
    response.headers_mut().remove(header::CONTENT_TYPE);
    Box::new(response)
}

pub(super) fn json(body: Bytes) -> Response {
    reply(200, JSON, body)
}

pub(super) fn json_of(status: u16, value: &impl Serialize) -> Response {
    // The values are maps with text keys, which JSON always holds.
    reply(status, JSON, serde_json::to_vec(value).unwrap_or_default())
}

#[derive(Serialize)]
struct Envelope<'a, T> {
    code: i32,
    message: &'a str,
    data: &'a T,
}

/// The envelope of v2 and v3.
pub(super) fn envelope(status: u16, code: i32, message: &str, data: &impl Serialize) -> Response {
    json_of(status, &Envelope { code, message, data })
}

/// A success of v2 and v3.
pub(super) fn success(data: &impl Serialize) -> Response {
    envelope(200, 0, "success", data)
}

/// As [`success`], with data that is JSON already.
pub(super) fn success_of(data: &Bytes) -> Response {
    let mut body = Vec::with_capacity(data.len() + 48);
    body.extend_from_slice(br#"{"code":0,"message":"success","data":"#);
    body.extend_from_slice(data);
    body.push(b'}');
    reply(200, JSON, body)
}

/// What the framework of the real server says about requests that reach no handler.
pub(super) fn error_page(status: u16, error: &str, message: &str, path: &str) -> Response {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis());
    let timestamp = iso_time(u64::try_from(now).unwrap_or_default());
    let page = json!({ "timestamp": timestamp, "status": status, "error": error, "message": message, "path": path });
    let mut response = json_of(status, &page);
    let (error, message) = (error.to_owned(), message.to_owned());
    response.extensions_mut().insert(ErrorPage { status, error, message });
    response
}

/// What the real server's container says where there is no application.
pub(super) fn no_such_page() -> Response {
    const PAGE: &str = "<!doctype html><html lang=\"en\"><head><title>HTTP Status 404 – Not Found</title></head>\
                        <body><h1>HTTP Status 404 – Not Found</h1></body></html>";
    reply(404, HeaderValue::from_static("text/html;charset=utf-8"), PAGE)
}

/// Milliseconds since 1970 as `2026-11-30T06:55:38.054+00:00`.
fn iso_time(ms: u64) -> String {
    let (days, of_day) = (ms / 86_400_000, ms % 86_400_000);
    // Years that begin in March, so that a leap day is the last day of its year; the era is 400 years long.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let (second, milli) = (of_day / 1_000 % 60, of_day % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}+00:00")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000+00:00"),
            (951_782_399_999, "2000-02-28T23:59:59.999+00:00"),
            (951_868_800_001, "2000-03-01T00:00:00.001+00:00"),
            (1_796_021_738_054, "2026-11-30T06:55:38.054+00:00"),
        ] {
            assert_eq!(iso_time(ms), text);
        }
    }
}
