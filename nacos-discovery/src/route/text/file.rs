use std::io::{self, Read};
use std::path::Path;

use super::{MAX_TEXT, Node, json, yaml};
use crate::route::RouteError;
use crate::route::error::Problem;

/// The tree of a file: of JSON if its name ends in `.json`, else of YAML.
pub(in crate::route) fn from_file(path: &Path) -> Result<Node, RouteError> {
    let text =
        read(path).map_err(|error| RouteError::new(Vec::new(), Problem::Unreadable { reason: error.to_string() }))?;
    let is_json = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("json"));
    if is_json { json(&text) } else { yaml(&text) }
}

/// No more than is needed to see that it is too much.
fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MAX_TEXT as u64 + 1).read_to_end(&mut bytes)?;
    // A character may be cut in two; then it is too much, too.
    if bytes.len() > MAX_TEXT {
        bytes.fill(b' ');
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}
