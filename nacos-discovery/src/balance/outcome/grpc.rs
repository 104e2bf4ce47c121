use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::Reply;

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");
const CONTENT: &[u8] = b"application/grpc";

/// No server is believed that it needs a longer pause.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Whether an answer is gRPC over HTTP/2, with its status in headers or trailers. gRPC-Web is not: it has them in the body.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    let rest = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).and_then(|value| value.strip_prefix(CONTENT));
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';' | b' ')))
}

/// What the status in headers or trailers says, if it is there.
pub(super) fn reply(fields: &HeaderMap) -> Option<Reply> {
    // A status that cannot be read is UNKNOWN, as clients take it.
    let code = fields.get(STATUS)?.to_str().ok().and_then(|code| code.parse().ok()).unwrap_or(2_u32);
    Some(match code {
        // RESOURCE_EXHAUSTED.
        8 => Reply::Overloaded { retry_after: pushback(fields) },
        // UNKNOWN, DEADLINE_EXCEEDED, INTERNAL, UNAVAILABLE, DATA_LOSS.
        2 | 4 | 13 | 14 | 15 => Reply::Failed,
        // The others speak of the request; UNIMPLEMENTED, too, is no illness of the instance.
        _ => Reply::Fine,
    })
}

/// A negative one means "do not try again", which is another matter.
fn pushback(fields: &HeaderMap) -> Option<Duration> {
    let millis = fields.get(PUSHBACK)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_millis(millis).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        pairs.collect()
    }

    #[test]
    fn grpc_is_told_by_its_content_type() {
        for (content, is) in [
            ("application/grpc", true),
            ("application/grpc+proto", true),
            ("application/grpc; charset=utf-8", true),
            ("application/grpc-web", false),
            ("application/grpc-web+proto", false),
            ("application/json", false),
        ] {
            assert_eq!(is_grpc(&fields(&[("content-type", content)])), is, "{content}");
        }
        assert!(!is_grpc(&HeaderMap::new()));
    }

    #[test]
    fn each_status_says_whether_the_instance_is_to_blame() {
        let failed = ["2", "4", "13", "14", "15", "x", ""];
        let fine = ["0", "1", "3", "5", "6", "7", "9", "10", "11", "12", "16", "17"];
        assert!(failed.iter().all(|code| reply(&fields(&[("grpc-status", code)])) == Some(Reply::Failed)));
        assert!(fine.iter().all(|code| reply(&fields(&[("grpc-status", code)])) == Some(Reply::Fine)));
        assert_eq!(reply(&HeaderMap::new()), None);
    }

    #[test]
    fn an_exhausted_server_may_ask_for_a_pause() {
        for (pause, expected) in [
            ("1500", Some(Duration::from_millis(1500))),
            ("-1", None),
            ("x", None),
            ("18446744073709551615", Some(LONGEST)),
        ] {
            let told = reply(&fields(&[("grpc-status", "8"), ("grpc-retry-pushback-ms", pause)]));
            assert_eq!(told, Some(Reply::Overloaded { retry_after: expected }), "{pause}");
        }
        assert_eq!(reply(&fields(&[("grpc-status", "8")])), Some(Reply::Overloaded { retry_after: None }));
    }
}
