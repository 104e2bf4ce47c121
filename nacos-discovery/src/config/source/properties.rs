//! Java's `.properties` format.
//!
//! Read by a few lines of our own: the crate for it brings eight others, an engine for regular expressions among them.

use std::iter::Peekable;
use std::str::Chars;
use std::sync::Arc;

use super::PropertyName;
use super::document::{Document, Property};
use super::format::syntax;
use crate::config::{DiscoveryConfigError, Place};

/// What separates words within a line.
const BLANKS: [char; 3] = [' ', '\t', '\u{c}'];

/// The documents of a text, split by comments of the form `#---`.
pub(super) fn documents(source: &Arc<str>, text: &str) -> Result<Vec<Document>, DiscoveryConfigError> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut documents = Vec::new();
    let mut document = Document::default();
    let mut lines = text.split('\n').zip(1..);
    while let Some((first, line)) = lines.next() {
        let mut logical = first.trim_start_matches(BLANKS).to_owned();
        if logical.starts_with(['#', '!']) {
            if matches!(first.trim_end(), "#---" | "!---") {
                documents.push(std::mem::take(&mut document));
            }
            continue;
        }
        while continues(&logical) {
            logical.pop();
            let Some((next, _)) = lines.next() else { break };
            logical.push_str(next.trim_start_matches(BLANKS));
        }
        if logical.is_empty() {
            continue;
        }
        let (key, text) = key_and_value(&logical).map_err(|reason| syntax(source, line, reason))?;
        let place = Place::Line { source: Arc::clone(source), line };
        document.properties.push(Property { name: PropertyName::parse(&key), text, place });
    }
    documents.push(document);
    Ok(documents)
}

/// Whether the line ends in a backslash that is not itself escaped.
fn continues(line: &str) -> bool {
    line.bytes().rev().take_while(|b| *b == b'\\').count() % 2 == 1
}

fn key_and_value(line: &str) -> Result<(String, String), &'static str> {
    let mut chars = line.chars().peekable();
    let key = unescape(&mut chars, |c| matches!(c, '=' | ':') || BLANKS.contains(&c))?;
    let blank = |c: &char| BLANKS.contains(c);
    while chars.next_if(blank).is_some() {}
    if chars.next_if(|c| matches!(c, '=' | ':')).is_some() {
        while chars.next_if(blank).is_some() {}
    }
    Ok((key, unescape(&mut chars, |_| false)?))
}

/// The text up to a character, not escaped, that ends it.
fn unescape(chars: &mut Peekable<Chars<'_>>, ends: impl Fn(char) -> bool) -> Result<String, &'static str> {
    let mut units: Vec<u16> = Vec::new();
    let mut buffer = [0; 2];
    while let Some(c) = chars.next_if(|c| !ends(*c)) {
        let c = match c {
            '\\' => match chars.next() {
                Some('u') => {
                    units.push(code_unit(chars)?);
                    continue;
                }
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('f') => '\u{c}',
                Some(other) => other,
                None => break,
            },
            c => c,
        };
        units.extend_from_slice(c.encode_utf16(&mut buffer));
    }
    // Characters beyond the first 65536 are written as two escapes.
    String::from_utf16(&units).map_err(|_| "an escape \\uXXXX is half of a character")
}

fn code_unit(chars: &mut Peekable<Chars<'_>>) -> Result<u16, &'static str> {
    (0..4).try_fold(0, |unit, _| {
        let digit =
            chars.next().and_then(|c| c.to_digit(16)).ok_or("an escape \\u lacks its four hexadecimal digits")?;
        // Four digits of four bits fill the unit exactly.
        Ok(unit << 4 | digit as u16)
    })
}
