use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::time::Instant;

const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// Digits that a timeout may have.
const DIGITS: usize = 8;
const LARGEST: u128 = 99_999_999;

/// Nanoseconds of each unit, the finest first.
const UNITS: [(char, u128); 6] = [
    ('n', 1),
    ('u', 1_000),
    ('m', 1_000_000),
    ('S', 1_000_000_000),
    ('M', 60 * 1_000_000_000),
    ('H', 60 * 60 * 1_000_000_000),
];

/// When a call has to have ended, as an extension of its request, so that all attempts know the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Deadline(pub(super) Instant);

impl Deadline {
    /// What the header of a call that begins now says; `None` if it says nothing that can be read, or nothing within sight.
    pub(super) fn of(headers: &HeaderMap, now: Instant) -> Option<Self> {
        let limit = read(headers.get(TIMEOUT)?)?;
        now.checked_add(limit).map(Self)
    }

    /// Says to an instance what is left of it.
    pub(super) fn tell(self, headers: &mut HeaderMap, now: Instant) {
        headers.insert(TIMEOUT, written(self.0.saturating_duration_since(now)));
    }
}

fn read(value: &HeaderValue) -> Option<Duration> {
    let text = value.to_str().ok()?;
    let unit = text.chars().next_back()?;
    let digits = text.strip_suffix(unit)?;
    if digits.is_empty() || digits.len() > DIGITS || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (_, nanos) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    let nanos = digits.parse::<u128>().ok()?.checked_mul(nanos)?;
    let seconds = u64::try_from(nanos / 1_000_000_000).ok()?;
    Some(Duration::new(seconds, (nanos % 1_000_000_000) as u32))
}

/// In the finest unit in which it has not too many digits.
fn written(limit: Duration) -> HeaderValue {
    let nanos = limit.as_nanos();
    let in_unit = UNITS.into_iter().map(|(unit, size)| (nanos / size, unit)).find(|(count, _)| *count <= LARGEST);
    let (count, unit) = in_unit.unwrap_or((LARGEST, 'H'));
    HeaderValue::from_str(&format!("{count}{unit}")).expect("digits and a letter fit in a header")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_text(text: &str) -> Option<Duration> {
        read(&HeaderValue::from_bytes(text.as_bytes()).unwrap())
    }

    #[test]
    fn a_timeout_is_digits_and_a_unit() {
        for (text, expected) in [
            ("1n", Some(Duration::from_nanos(1))),
            ("20u", Some(Duration::from_micros(20))),
            ("300m", Some(Duration::from_millis(300))),
            ("04S", Some(Duration::from_secs(4))),
            ("5M", Some(Duration::from_secs(300))),
            ("99999999H", Some(Duration::from_secs(99_999_999 * 3600))),
            ("0S", Some(Duration::ZERO)),
            ("", None),
            ("S", None),
            ("1", None),
            ("1s", None),
            ("+1S", None),
            ("1 S", None),
            ("123456789S", None),
            ("1\u{e9}", None),
        ] {
            assert_eq!(read_text(text), expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_no_deadline() {
        let now = Instant::now();
        let deadline =
            |text: &'static str| Deadline::of(&HeaderMap::from_iter([(TIMEOUT, HeaderValue::from_static(text))]), now);
        assert_eq!(deadline("2S"), Some(Deadline(now + Duration::from_secs(2))));
        assert_eq!((deadline("soon"), Deadline::of(&HeaderMap::new(), now)), (None, None));
    }

    #[test]
    fn an_instance_is_told_what_is_left() {
        let now = Instant::now();
        let deadline = Deadline(now + Duration::from_secs(2));
        let mut headers = HeaderMap::from_iter([(TIMEOUT, HeaderValue::from_static("2S"))]);
        deadline.tell(&mut headers, now + Duration::from_millis(500));
        assert_eq!(headers[TIMEOUT], "1500000u");
        deadline.tell(&mut headers, now + Duration::from_secs(3));
        assert_eq!((headers.len(), &headers[TIMEOUT]), (1, &HeaderValue::from_static("0n")));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_as_no_more_and_hardly_less(secs in 0..u64::MAX, nanos in 0..1_000_000_000_u32) {
            let limit = Duration::new(secs, nanos);
            let read = read(&written(limit)).unwrap();
            prop_assert!(read <= limit);
            let most = Duration::from_secs(99_999_999 * 3600);
            prop_assert!(limit > most || limit - read <= limit / 1_000_000);
        }

        #[test]
        fn no_text_makes_it_panic(text in "[ -~]{0,12}") {
            let _ = read_text(&text);
        }
    }
}
