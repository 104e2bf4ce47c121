use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::RETRY_AFTER;

/// No instance is believed that it needs a longer pause.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The pause that an answer asks for: `Retry-After` in seconds or as a date of HTTP. A date that is over is no pause.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let pause = if digits {
        // More digits than fit are a long time all the same.
        value.parse().map_or(LONGEST, Duration::from_secs)
    } else {
        httpdate::parse_http_date(value).ok()?.duration_since(now).unwrap_or_default()
    };
    Some(pause.min(LONGEST))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn pause(value: &[u8]) -> Option<Duration> {
        let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_bytes(value).unwrap())]);
        // 1994-11-06 08:49:00
        retry_after(&headers, SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_740))
    }

    #[test]
    fn seconds_and_dates_are_read() {
        for (value, seconds) in [
            ("0", 0),
            (" 120 ", 120),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 37),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 37),
            ("Sun Nov  6 08:49:37 1994", 37),
            ("Sun, 06 Nov 1994 08:00:00 GMT", 0),
        ] {
            assert_eq!(pause(value.as_bytes()), Some(Duration::from_secs(seconds)), "{value}");
        }
    }

    #[test]
    fn a_pause_is_bounded_and_nonsense_is_none() {
        for long in ["86401", "18446744073709551616", "Fri, 31 Dec 9999 23:59:59 GMT"] {
            assert_eq!(pause(long.as_bytes()), Some(LONGEST), "{long}");
        }
        for nonsense in [&b"-1"[..], b"1.5", b"soon", b"", b"\xff", b"+5", b"Sun, 06 Nov"] {
            assert_eq!(pause(nonsense), None, "{nonsense:?}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), SystemTime::UNIX_EPOCH), None);
    }
}
