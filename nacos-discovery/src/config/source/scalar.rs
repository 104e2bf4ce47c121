//! What a plain word of YAML is to Spring.
//!
//! Spring reads YAML 1.1 and turns what it finds into text where a text is wanted, so `yes` arrives as `true`, `0123` as `83`
//! and `1.10` as `1.1`. Whoever moves a file here expects the same; whoever means a text writes quotes.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex_lite::Regex;

static INTEGER: LazyLock<Regex> =
    LazyLock::new(|| pattern("0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])+"));
static FLOAT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+|\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?|[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*",
    )
});

fn pattern(unsigned: &str) -> Regex {
    Regex::new(&format!("^[-+]?(?:{unsigned})$")).expect("both expressions are constants, and tested")
}

/// The text of a plain word; nothing for what YAML calls null.
pub(super) fn plain(word: &str) -> Cow<'_, str> {
    match word {
        "~" | "null" | "Null" | "NULL" => Cow::Borrowed(""),
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Cow::Borrowed("true"),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Cow::Borrowed("false"),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Cow::Borrowed("Infinity"),
        "-.inf" | "-.Inf" | "-.INF" => Cow::Borrowed("-Infinity"),
        ".nan" | ".NaN" | ".NAN" => Cow::Borrowed("NaN"),
        _ => number(word).map_or(Cow::Borrowed(word), Cow::Owned),
    }
}

/// The text of a number, `None` for what is none.
fn number(word: &str) -> Option<String> {
    // Most words are none, and tell at once.
    if !word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) {
        return None;
    }
    let bare = word.replace('_', "");
    let (sign, magnitude) = match bare.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", bare.strip_prefix('+').unwrap_or(&bare)),
    };
    if INTEGER.is_match(word) {
        let text = integer(magnitude)?;
        return Some(if text == "0" { text } else { format!("{sign}{text}") });
    }
    if FLOAT.is_match(word) {
        return Some(format!("{sign}{}", java_double(float(magnitude)?)));
    }
    None
}

fn integer(magnitude: &str) -> Option<String> {
    let radix = |digits: &str, radix| u128::from_str_radix(digits, radix).ok().map(|number| number.to_string());
    if magnitude.contains(':') {
        let places = magnitude.split(':').map(|place| place.parse::<u128>().ok());
        let number = places.reduce(|sum, place| sum?.checked_mul(60)?.checked_add(place?));
        return number?.map(|number| number.to_string());
    }
    match (magnitude.strip_prefix("0b"), magnitude.strip_prefix("0x"), magnitude.strip_prefix('0')) {
        (Some(digits), _, _) => radix(digits, 2),
        (_, Some(digits), _) => radix(digits, 16),
        (_, _, Some(digits)) if !digits.is_empty() => radix(digits, 8),
        // However long.
        _ => Some(magnitude.to_owned()),
    }
}

fn float(magnitude: &str) -> Option<f64> {
    let places = magnitude.split(':').map(|place| place.parse::<f64>().ok());
    places.reduce(|sum, place| Some(sum? * 60.0 + place?))?
}

/// A number that is not negative, as Java prints it.
fn java_double(number: f64) -> String {
    if number.is_infinite() {
        return "Infinity".to_owned();
    }
    if number == 0.0 || (1e-3..1e7).contains(&number) {
        return format!("{number:?}");
    }
    let text = format!("{number:E}");
    match text.split_once('E') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0E{exponent}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What Spring Boot 3.2.4 made of each.
    const RECORDED: &[(&str, &str)] = &[
        ("1.10", "1.1"),
        ("0123", "83"),
        ("0x1F", "31"),
        ("0b101", "5"),
        ("1_000", "1000"),
        ("+7", "7"),
        ("-7", "-7"),
        ("1e3", "1000.0"),
        ("1.5e10", "1.5E10"),
        (".5", "0.5"),
        ("5.", "5.0"),
        ("1.0e-5", "1.0E-5"),
        ("12345678.9", "1.23456789E7"),
        (".inf", "Infinity"),
        (".nan", "NaN"),
        ("190:20:30", "685230"),
        ("20:30.15", "1230.15"),
        ("08", "08"),
        ("yes", "true"),
        ("Yes", "true"),
        ("YES", "true"),
        ("y", "y"),
        ("on", "true"),
        ("Off", "false"),
        ("true", "true"),
        ("TRUE", "true"),
        ("n", "n"),
        ("1.2.3", "1.2.3"),
        ("0.0.1", "0.0.1"),
        ("0o17", "0o17"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("2001-12-14t21:59:43.10-05:00", "2001-12-14t21:59:43.10-05:00"),
        ("2024-01-02", "2024-01-02"),
        ("1e400", "Infinity"),
        ("0", "0"),
        ("-0", "0"),
        ("0.0", "0.0"),
        ("-0.0", "-0.0"),
        ("1.0E+3", "1000.0"),
        ("1e+3", "1000.0"),
        ("0.001", "0.001"),
        ("0.0001", "1.0E-4"),
        ("100000000.0", "1.0E8"),
        ("1,000", "1,000"),
        ("=", "="),
        ("Null", ""),
        ("1__0", "10"),
        ("9999999.0", "9999999.0"),
        ("10000000.0", "1.0E7"),
        ("_1", "_1"),
        ("0x_1", "1"),
        ("3.", "3.0"),
        ("1_0.5_0", "10.5"),
        ("-.5", "-0.5"),
        ("1:1", "61"),
        ("0.1", "0.1"),
        ("123456789.123456789", "1.2345678912345679E8"),
    ];

    #[test]
    fn a_plain_word_is_what_it_is_to_spring() {
        for (word, text) in RECORDED {
            assert_eq!(plain(word), *text, "{word}");
        }
    }

    proptest! {
        #[test]
        fn no_word_is_too_odd(word in "\\PC{0,20}|[-+0-9a-fxob_.:eE]{0,60}") {
            let _ = plain(&word);
        }
    }
}
