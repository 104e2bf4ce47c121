//! From a text, or any serde format, to a tree whose nodes know their places. JSON and YAML have one tree, so that whatever
//! reads it need not know which it was.

mod deserialize;
mod file;
mod json;
mod node;
mod scalar;
mod tree;
mod yaml;

pub(super) use file::from_file;
pub(super) use node::{Content, Node};
pub(super) use scalar::{Kind, Scalar};

use super::RouteError;
use super::error::Problem;

/// Longer texts are refused.
pub(super) const MAX_TEXT: usize = 1024 * 1024;

/// The tree of a JSON text.
pub(super) fn json(text: &str) -> Result<Node, RouteError> {
    json::tree(checked(text)?)
}

/// The tree of a YAML text of one document.
pub(super) fn yaml(text: &str) -> Result<Node, RouteError> {
    yaml::tree(checked(text)?)
}

fn checked(text: &str) -> Result<&str, RouteError> {
    if text.len() > MAX_TEXT {
        return Err(RouteError::new(Vec::new(), Problem::TooLong { limit: MAX_TEXT }));
    }
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}
