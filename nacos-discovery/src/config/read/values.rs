use std::time::Duration;

/// The words for yes and no.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" | "yes" | "1" => Some(true),
        "false" | "off" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// A number of milliseconds, or a number with a unit.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    if let Some(iso) = strip_prefix_ignoring_case(text, "PT") {
        return iso_time(iso);
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let number: u64 = number.parse().ok()?;
    match unit.trim().to_ascii_lowercase().as_str() {
        "ns" => Some(Duration::from_nanos(number)),
        "us" => Some(Duration::from_micros(number)),
        "" | "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => number.checked_mul(60).map(Duration::from_secs),
        "h" => number.checked_mul(3600).map(Duration::from_secs),
        "d" => number.checked_mul(86_400).map(Duration::from_secs),
        _ => None,
    }
}

/// A duration in whole milliseconds, from 1 to what Java's `int` holds.
pub(crate) fn milliseconds(text: &str) -> Option<Duration> {
    let duration = duration(text)?;
    (1..=i32::MAX as u128).contains(&duration.as_millis()).then_some(duration)
}

/// Hours, minutes and seconds of ISO 8601, in that order: `1H30M5S`.
fn iso_time(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut seconds: u64 = 0;
    for (unit, worth) in [('H', 3600), ('M', 60), ('S', 1)] {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest.split_at_checked(digits)?;
        if let Some(after) = after.strip_prefix([unit, unit.to_ascii_lowercase()]) {
            seconds = seconds.checked_add(number.parse::<u64>().ok()?.checked_mul(worth)?)?;
            rest = after;
        }
    }
    (rest.is_empty() && !text.is_empty()).then(|| Duration::from_secs(seconds))
}

fn strip_prefix_ignoring_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_have_the_units_of_spring_and_milliseconds_without_one() {
        for (text, millis) in [
            ("5000", Some(5000)),
            ("5s", Some(5000)),
            ("5 S", Some(5000)),
            ("250ms", Some(250)),
            ("2m", Some(120_000)),
            ("1h", Some(3_600_000)),
            ("1d", Some(86_400_000)),
            ("PT30S", Some(30_000)),
            ("pt1h2m3s", Some(3_723_000)),
            ("", None),
            ("PT", None),
            ("PT5", None),
            ("s", None),
            ("-1", None),
            ("1.5s", None),
            ("5 parsecs", None),
            ("99999999999999999999", None),
            ("18446744073709551615d", None),
        ] {
            assert_eq!(duration(text).map(|d| d.as_millis()), millis, "{text:?}");
        }
        assert_eq!((milliseconds("0"), milliseconds("25d")), (None, None));
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "\\PC*|(PT)?[0-9]{0,25}[a-zA-Z]{0,3}") {
            let _ = (duration(&text), boolean(&text), milliseconds(&text));
        }
    }
}
