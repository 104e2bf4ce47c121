//! An HTTP client that sends what it is told, byte for byte.

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::compare::Reply;
use crate::vectors::Exchange;

const FORM: &str = "application/x-www-form-urlencoded";

/// A call to be made.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::exhaustive_structs, reason = "a call has no more than this")]
pub struct Call<'a> {
    /// The method.
    pub method: &'a str,
    /// The path, with the context path.
    pub path: &'a str,
    /// The query, percent-encoded.
    pub query: &'a str,
    /// The body of a form.
    pub form: Option<&'a str>,
}

/// Makes a call on a connection of its own.
///
/// # Errors
///
/// When the server cannot be reached or does not answer with HTTP.
///
/// # Cancel safety
///
/// The connection ends with the future; the server may have got the call.
pub async fn call(server: SocketAddr, call: Call<'_>) -> io::Result<Reply> {
    let form = call.form.map(|form| (FORM, form));
    send(server, call.method, &target(call.path, call.query), [], form).await
}

/// Makes a recorded call again, on a connection of its own.
///
/// # Errors
///
/// When the server cannot be reached or does not answer with HTTP.
///
/// # Cancel safety
///
/// The connection ends with the future; the server may have got the call.
pub async fn repeat(server: SocketAddr, exchange: &Exchange) -> io::Result<Reply> {
    let named = exchange.headers.keys().any(|name| name.eq_ignore_ascii_case("content-type"));
    let content_type = if named { "" } else { FORM };
    let body = exchange.form.as_deref().or(exchange.body.as_deref()).map(|body| (content_type, body));
    let headers = exchange.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    send(server, &exchange.method, &target(&exchange.path, &exchange.query), headers, body).await
}

/// Makes a call with headers of its own, on a connection of its own.
///
/// # Errors
///
/// When the server cannot be reached or does not answer with HTTP.
///
/// # Cancel safety
///
/// The connection ends with the future; the server may have got the call.
pub async fn call_with<'a>(
    server: SocketAddr,
    call: Call<'_>,
    headers: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> io::Result<Reply> {
    let form = call.form.map(|form| (FORM, form));
    send(server, call.method, &target(call.path, call.query), headers, form).await
}

fn target(path: &str, query: &str) -> String {
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

async fn send<'a>(
    server: SocketAddr,
    method: &str,
    target: &str,
    headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    body: Option<(&str, &str)>,
) -> io::Result<Reply> {
    let mut request = Request::builder().method(method).uri(target).header(header::HOST, server.to_string());
    for (name, value) in headers {
        request = request.header(name, value);
    }
    if let Some((content_type, _)) = body.filter(|(content_type, _)| !content_type.is_empty()) {
        request = request.header(header::CONTENT_TYPE, content_type);
    }
    let body = body.map(|(_, body)| Bytes::copy_from_slice(body.as_bytes())).unwrap_or_default();
    let request = request.body(Full::new(body)).map_err(io::Error::other)?;
    let tcp = TcpStream::connect(server).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(tcp)).await.map_err(io::Error::other)?;
    let answer = async {
        let response = sender.send_request(request).await.map_err(io::Error::other)?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let content_type = head.headers.get(header::CONTENT_TYPE);
        let content_type = content_type.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok(Reply { status: head.status.as_u16(), content_type, body })
    };
    tokio::pin!(connection);
    tokio::pin!(answer);
    tokio::select! {
        answer = &mut answer => answer,
        ended = &mut connection => {
            ended.map_err(io::Error::other)?;
            answer.await
        }
    }
}
