use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};

use super::node::{Mark, Node};
use super::scalar::Scalar;
use super::tree::{Tree, syntax};
use crate::route::RouteError;

/// The tree of a text of one document.
pub(super) fn tree(text: &str) -> Result<Node, RouteError> {
    // The parser would take it for the end.
    if let Some((before, _)) = text.split_once('\0') {
        let line = before.rsplit('\n').next().unwrap_or_default();
        let mark = (before.matches('\n').count() + 1, line.chars().count() + 1);
        return Err(syntax(mark, "the character U+0000"));
    }
    let mut parser = Parser::new_from_str(text);
    let mut root = None;
    let mut tree = Tree::default();
    while let Some(next) = parser.next_event() {
        let (event, span) = next.map_err(|error| syntax(mark(error.marker()), error.info()))?;
        match event {
            Event::DocumentStart(_) if root.is_some() => {
                return Err(syntax(mark(&span.start), "another document begins here; write all services into one"));
            }
            Event::DocumentEnd => root = std::mem::take(&mut tree).root(),
            event => take(&mut tree, event, mark(&span.start))?,
        }
    }
    root.ok_or_else(|| syntax((1, 1), "there is nothing"))
}

fn take(tree: &mut Tree, event: Event<'_>, mark: Mark) -> Result<(), RouteError> {
    match event {
        Event::Scalar(text, style, anchor, tag) => {
            let is_text = tag_allows(tag.as_deref(), &["str"], mark)?;
            let plain = style == ScalarStyle::Plain && !is_text;
            tree.scalar(mark, anchor, if plain { Scalar::plain(&text) } else { Scalar::text(text) })
        }
        Event::SequenceStart(anchor, tag) => {
            tag_allows(tag.as_deref(), &["seq"], mark)?;
            tree.open_list(mark, anchor)
        }
        Event::MappingStart(anchor, tag) => {
            tag_allows(tag.as_deref(), &["map"], mark)?;
            tree.open_block(mark, anchor)
        }
        Event::SequenceEnd | Event::MappingEnd => tree.end(),
        Event::Alias(anchor) => tree.alias(mark, anchor),
        _ => Ok(()),
    }
}

/// Whether there is a tag; any but these of YAML itself would be overlooked, and is refused.
fn tag_allows(tag: Option<&Tag>, known: &[&str], mark: Mark) -> Result<bool, RouteError> {
    match tag {
        None => Ok(false),
        Some(tag) if tag.is_yaml_core_schema() && known.contains(&tag.suffix.as_str()) => Ok(true),
        Some(tag) => Err(syntax(mark, format!("the tag {tag} means nothing here"))),
    }
}

fn mark(marker: &Marker) -> Mark {
    (marker.line(), marker.col() + 1)
}
