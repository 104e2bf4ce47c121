//! `${name}` and `${name:default}` in values, each of which may hold others.

/// More steps than this are refused: values that stand for one another grow without bound.
const MAX_STEPS: usize = 1000;
const MAX_DEPTH: usize = 32;
const MAX_LENGTH: usize = 64 * 1024;

/// Why a placeholder cannot be put in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unresolved {
    pub(crate) placeholder: String,
    pub(crate) reason: &'static str,
}

/// What a placeholder's name stands for.
pub(crate) struct Meaning {
    /// `None` for a variable that is not valid Unicode.
    pub(crate) text: Option<String>,
    /// Whether it may have placeholders itself.
    pub(crate) literal: bool,
}

/// Puts the meanings of all placeholders in.
pub(crate) fn expand(text: &str, lookup: &dyn Fn(&str) -> Option<Meaning>) -> Result<String, Unresolved> {
    Expansion { lookup, steps: 0, within: Vec::new() }.text(text)
}

struct Expansion<'l> {
    lookup: &'l dyn Fn(&str) -> Option<Meaning>,
    steps: usize,
    /// The placeholders whose meaning is being found.
    within: Vec<String>,
}

impl Expansion<'_> {
    fn text(&mut self, text: &str) -> Result<String, Unresolved> {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, inner, after)) = next_placeholder(rest) {
            out.push_str(before);
            out.push_str(&self.placeholder(inner)?);
            if out.len() > MAX_LENGTH {
                return Err(unresolved(inner, "makes the value too long"));
            }
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }

    fn placeholder(&mut self, inner: &str) -> Result<String, Unresolved> {
        self.steps += 1;
        let (name, default) = name_and_default(inner);
        if self.steps > MAX_STEPS || self.within.len() == MAX_DEPTH {
            return Err(unresolved(name, "stands for too many others"));
        }
        if self.within.iter().any(|outer| outer == inner) {
            return Err(unresolved(name, "stands for itself"));
        }
        self.within.push(inner.to_owned());
        let name = self.text(name)?;
        let meaning = match (self.lookup)(&name) {
            Some(Meaning { text: None, .. }) => return Err(unresolved(&name, "is not valid Unicode")),
            Some(Meaning { text: Some(text), literal: true }) => text,
            Some(Meaning { text: Some(text), literal: false }) => self.text(&text)?,
            None => match default {
                Some(default) => self.text(default)?,
                None => {
                    return Err(unresolved(&name, "is neither a key nor an environment variable, and has no default"));
                }
            },
        };
        self.within.pop();
        Ok(meaning)
    }
}

fn unresolved(placeholder: &str, reason: &'static str) -> Unresolved {
    // Its default is no part of the name, and may be a secret.
    Unresolved { placeholder: name_and_default(placeholder).0.to_owned(), reason }
}

/// The text before the first whole placeholder, what is within it, and the text after.
fn next_placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let (before, opened) = text.split_once("${")?;
    let (inner, after) = opened.split_at_checked(closing(opened)?)?;
    Some((before, inner, after.strip_prefix('}')?))
}

/// Where the brace is that closes what was opened before `text`.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Splits at the first colon that is not within a placeholder of its own.
fn name_and_default(inner: &str) -> (&str, Option<&str>) {
    let mut depth = 0_usize;
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => return (&inner[..at], inner.get(at + 1..)),
            _ => {}
        }
    }
    (inner, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn known(name: &str) -> Option<Meaning> {
        let text = match name {
            "A" => "a",
            "EMPTY" => "",
            "which" => "A",
            "twice" => "${A}${A}",
            "loop" => "${pool}",
            "pool" => "${loop}",
            "bomb" => "${b1}${b1}${b1}${b1}",
            "b1" => "${b2}${b2}${b2}${b2}",
            "b2" => "${b3}${b3}${b3}${b3}",
            "b3" => "${b4}${b4}${b4}${b4}",
            "b4" => "${b5}${b5}${b5}${b5}",
            "b5" => "${EMPTY}${EMPTY}${EMPTY}${EMPTY}",
            "code" => return Some(Meaning { text: Some("${A}".to_owned()), literal: true }),
            "binary" => return Some(Meaning { text: None, literal: false }),
            _ => return None,
        };
        Some(Meaning { text: Some(text.to_owned()), literal: false })
    }

    #[test]
    fn names_defaults_and_nested_ones_are_put_in() {
        for (text, expanded) in [
            ("plain", "plain"),
            ("${A}", "a"),
            ("x${A}y${A}z", "xayaz"),
            ("${B:b}", "b"),
            ("${B:}", ""),
            ("${EMPTY:b}", ""),
            ("${B:http://h:80/}", "http://h:80/"),
            ("${B:${A}}", "a"),
            ("${B:${C:c}}", "c"),
            ("${${which}}", "a"),
            ("${twice}", "aa"),
            ("${code}", "${A}"),
            ("${open", "${open"),
            ("{A} $A }", "{A} $A }"),
        ] {
            assert_eq!(expand(text, &known), Ok(expanded.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_stands_for_nothing_or_too_much_is_refused_by_name() {
        for (text, placeholder, part) in [
            ("${B}", "B", "neither"),
            ("${loop}", "loop", "itself"),
            ("${bomb}", "b5", "too many"),
            ("${binary}", "binary", "Unicode"),
            ("${binary:hunter2}", "binary", "Unicode"),
        ] {
            let error = expand(text, &known).unwrap_err();
            assert!(error.reason.contains(part), "{text}: {error:?}");
            assert!(error.placeholder == placeholder || text == "${bomb}", "{text}: {error:?}");
        }
        assert!(expand(&"${".repeat(100_000), &known).is_ok());
        let deep = format!("{}A{}", "${".repeat(5000), "}".repeat(5000));
        assert!(expand(&deep, &known).unwrap_err().reason.contains("too many"));
        let long = format!("{}{}", "${A:x}", "${B:".to_owned() + &"y".repeat(MAX_LENGTH + 1) + "}");
        assert!(expand(&long, &known).unwrap_err().reason.contains("too long"));
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "\\PC{0,60}|([${}:]|A|B|twice|loop){0,40}") {
            let _ = expand(&text, &known);
        }
    }
}
