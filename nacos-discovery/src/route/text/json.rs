use serde::de::IgnoredAny;

use super::node::{Mark, Node};
use super::scalar::Scalar;
use super::tree::{Tree, syntax};
use crate::route::RouteError;

/// The tree of a text.
pub(super) fn tree(text: &str) -> Result<Node, RouteError> {
    let told = |error: &serde_json::Error| syntax((error.line(), error.column()), reason(error));
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| told(&error))?;
    // From here on it is known to be valid, so that its tokens are what they look like.
    let mut tree = Tree::default();
    let mut rest = Cursor { text, mark: (1, 1) };
    while let Some(first) = rest.skip_to_token() {
        let mark = rest.mark;
        match first {
            '{' => tree.open_block(mark, 0)?,
            '[' => tree.open_list(mark, 0)?,
            '}' | ']' => tree.end()?,
            '"' => {
                let token = rest.token(string_end(rest.text));
                tree.scalar(
                    mark,
                    0,
                    Scalar::text(serde_json::from_str::<String>(token).map_err(|error| told(&error))?),
                )?;
                continue;
            }
            _ => {
                let end = rest.text.find(|c: char| c.is_ascii_whitespace() || ",:]}".contains(c));
                let token = rest.token(end.unwrap_or(rest.text.len()));
                tree.scalar(mark, 0, Scalar::plain(token))?;
                continue;
            }
        }
        rest.token(1);
    }
    tree.root().ok_or_else(|| syntax((1, 1), "there is nothing"))
}

/// What is left of a text, and where it begins.
struct Cursor<'a> {
    text: &'a str,
    mark: Mark,
}

impl<'a> Cursor<'a> {
    /// Leaves out what stands between tokens.
    fn skip_to_token(&mut self) -> Option<char> {
        let start = self.text.find(|c: char| !c.is_ascii_whitespace() && c != ',' && c != ':')?;
        self.token(start);
        self.text.chars().next()
    }

    fn token(&mut self, length: usize) -> &'a str {
        let (token, rest) = self.text.split_at(length);
        for c in token.chars() {
            self.mark = if c == '\n' { (self.mark.0 + 1, 1) } else { (self.mark.0, self.mark.1 + 1) };
        }
        self.text = rest;
        token
    }
}

/// Where a string ends that the text begins with.
fn string_end(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

/// What serde_json says, without the place, which is told once.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or_else(|| text.clone(), |(reason, _)| reason.to_owned())
}
