use std::net::IpAddr;

use http::header::{FORWARDED, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};

use super::hop_by_hop::present;

static FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
static FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
static PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
static PREFIX: HeaderName = HeaderName::from_static("x-forwarded-prefix");

/// Who asks says nothing of this, and neither does the gateway.
static UNKNOWN: [HeaderName; 3] =
    [FORWARDED, HeaderName::from_static("x-forwarded-port"), HeaderName::from_static("x-forwarded-ssl")];

/// Says who asked for what: `X-Forwarded-For`, `-Host`, `-Proto` and `-Prefix`. The gateway is taken to be the first that callers
/// meet, so what they say themselves in these headers does not count, and goes.
pub(super) fn add(headers: &mut HeaderMap, uri: &Uri, peer: Option<IpAddr>, prefix: &str) {
    // In HTTP/2 the host stands in the URI. The instance has a host of its own.
    let host = headers.remove(HOST).or_else(|| uri.authority()?.as_str().parse().ok());
    for name in present(headers, &UNKNOWN) {
        headers.remove(name);
    }
    headers.reserve(4);
    set(headers, &FOR, peer.and_then(|peer| peer.to_string().try_into().ok()));
    set(headers, &FORWARDED_HOST, host);
    set(headers, &PROTO, Some(HeaderValue::from_static("http")));
    set(headers, &PREFIX, prefix.parse().ok());
}

fn set(headers: &mut HeaderMap, name: &'static HeaderName, value: Option<HeaderValue>) {
    match value {
        Some(value) => headers.insert(name, value),
        None => headers.remove(name),
    };
}
