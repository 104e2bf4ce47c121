use std::net::IpAddr;

use http::header::{FORWARDED, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const PORT: HeaderName = HeaderName::from_static("x-forwarded-port");
const SSL: HeaderName = HeaderName::from_static("x-forwarded-ssl");
const PREFIX: HeaderName = HeaderName::from_static("x-forwarded-prefix");

/// Says who asked for what: `X-Forwarded-For`, `-Host`, `-Proto` and `-Prefix`. The gateway is taken to be the first that callers
/// meet, so what they say themselves in these headers does not count, and goes.
pub(super) fn add(headers: &mut HeaderMap, uri: &Uri, peer: Option<IpAddr>, service: &str) {
    // In HTTP/2 the host stands in the URI. The instance has a host of its own.
    let host = headers.remove(HOST).or_else(|| uri.authority()?.as_str().parse().ok());
    for name in [FORWARDED, PORT, SSL] {
        headers.remove(name);
    }
    set(headers, FOR, peer.and_then(|peer| peer.to_string().parse().ok()));
    set(headers, FORWARDED_HOST, host);
    set(headers, PROTO, Some(HeaderValue::from_static("http")));
    set(headers, PREFIX, format!("/{service}").parse().ok());
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: Option<HeaderValue>) {
    match value {
        Some(value) => headers.insert(name, value),
        None => headers.remove(name),
    };
}
