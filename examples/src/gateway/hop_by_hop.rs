use http::header::{
    CONNECTION, CONTENT_LENGTH, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue};

static FIXED: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("http2-settings"),
    HeaderName::from_static("keep-alive"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Removes what is about the connection that a message came by, and what that connection says is. Who takes trailers still
/// says so: gRPC asks for it, and without it HTTP/1.1 loses them. A length beside a coding is none: the body ends where the
/// coding says so.
pub(super) fn strip(headers: &mut HeaderMap) {
    let fixed = present(headers, &FIXED);
    if fixed.is_empty() {
        return;
    }
    if headers.contains_key(TRANSFER_ENCODING) {
        headers.remove(CONTENT_LENGTH);
    }
    let takes_trailers = has_token(headers, &TE, "trailers");
    let named: Vec<HeaderName> = tokens(headers, &CONNECTION).filter_map(|token| token.parse().ok()).collect();
    for name in fixed.iter().chain(&named) {
        headers.remove(name);
    }
    if takes_trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
}

/// Those of some headers that are there. Most messages have none of them: one look at each of theirs is less work than to ask
/// for each of these.
pub(super) fn present(headers: &HeaderMap, names: &[HeaderName]) -> Vec<HeaderName> {
    headers.keys().filter(|name| names.contains(name)).cloned().collect()
}

/// Says of what is about the next connection, if it is one of HTTP/1.1, that it is.
pub(super) fn announce(headers: &mut HeaderMap) {
    if headers.contains_key(TE) {
        headers.insert(CONNECTION, HeaderValue::from_static("te"));
    }
}

/// Whether one of a list of words is this one, in whatever letters.
pub(super) fn has_token(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    tokens(headers, name).any(|one| one.eq_ignore_ascii_case(token))
}

fn tokens<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let texts = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    texts.flat_map(|text| text.split(',')).map(str::trim).filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_about_the_connection_goes_and_everything_else_stays() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "keep-alive, X-Hop"),
            ("connection", "close,, not a name"),
            ("x-hop", "1"),
            ("keep-alive", "timeout=5"),
            ("te", "gzip, Trailers"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("proxy-authorization", "secret"),
            ("trailer", "x-checksum"),
            ("authorization", "stays"),
            ("content-length", "7"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        strip(&mut headers);
        let mut left: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        left.sort_unstable();
        let expected = [("authorization", "stays"), ("te", "trailers"), ("trailer", "x-checksum")];
        assert_eq!(left, expected);

        let mut headers = HeaderMap::from_iter([(CONTENT_LENGTH, HeaderValue::from_static("7"))]);
        strip(&mut headers);
        assert_eq!(headers[CONTENT_LENGTH], "7", "without a coding the length counts");
    }
}
