/// A single value, and how it is written.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::route) struct Scalar {
    pub(in crate::route) text: String,
    pub(in crate::route) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::route) enum Kind {
    Nothing,
    Bool(bool),
    Number(f64),
    Text,
}

impl Scalar {
    pub(in crate::route) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: Kind::Text }
    }

    /// A word without quotes, as the core schema of YAML 1.2 reads it: `yes` is a text there.
    pub(in crate::route) fn plain(word: &str) -> Self {
        let kind = match word {
            "" | "~" | "null" | "Null" | "NULL" => Kind::Nothing,
            "true" | "True" | "TRUE" => Kind::Bool(true),
            "false" | "False" | "FALSE" => Kind::Bool(false),
            _ => number(word).map_or(Kind::Text, Kind::Number),
        };
        Self { text: word.to_owned(), kind }
    }
}

fn number(word: &str) -> Option<f64> {
    let radix = |digits: &str, radix| u64::from_str_radix(digits, radix).ok().map(|number| number as f64);
    let unsigned = word.strip_prefix(['-', '+']).unwrap_or(word);
    match unsigned {
        ".inf" | ".Inf" | ".INF" => Some(if word.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY }),
        ".nan" | ".NaN" | ".NAN" => Some(f64::NAN),
        // Rust would read inf, nan and infinity as numbers, too.
        _ if unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') => match unsigned.get(..2) {
            Some("0x") => radix(&unsigned[2..], 16),
            Some("0o") => radix(&unsigned[2..], 8),
            _ => word.parse().ok(),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_yaml_1_2_says() {
        for (word, kind) in [
            ("", Kind::Nothing),
            ("~", Kind::Nothing),
            ("null", Kind::Nothing),
            ("true", Kind::Bool(true)),
            ("FALSE", Kind::Bool(false)),
            ("yes", Kind::Text),
            ("on", Kind::Text),
            ("v2", Kind::Text),
            ("10", Kind::Number(10.0)),
            ("-0.5", Kind::Number(-0.5)),
            ("+1e3", Kind::Number(1000.0)),
            (".5", Kind::Number(0.5)),
            ("0x1F", Kind::Number(31.0)),
            ("0o17", Kind::Number(15.0)),
            ("1_000", Kind::Text),
            ("1.2.3", Kind::Text),
            ("2026-01-01", Kind::Text),
            (".", Kind::Text),
            ("-", Kind::Text),
            ("inf", Kind::Text),
            ("nan", Kind::Text),
            ("0x", Kind::Text),
            ("-.inf", Kind::Number(f64::NEG_INFINITY)),
        ] {
            assert_eq!(Scalar::plain(word).kind, kind, "{word}");
        }
        assert!(matches!(Scalar::plain(".nan").kind, Kind::Number(number) if number.is_nan()));
    }
}
