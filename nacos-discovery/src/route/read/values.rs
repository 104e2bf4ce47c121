//! Single values of a document.

use crate::route::error::{At, Problem};
use crate::route::text::{Content, Kind, Node, Scalar};
use crate::route::{Label, RouteError};

use super::block::Block;

pub(super) fn text(at: &At<'_>, node: &Node) -> Result<String, RouteError> {
    match &*node.content {
        Content::Scalar(Scalar { text, kind: Kind::Text }) => Ok(text.clone()),
        Content::Scalar(Scalar { text, kind: Kind::Number(_) | Kind::Bool(_) }) => {
            Err(at.fails(Problem::NotQuoted { text: text.clone() }))
        }
        _ => Err(at.fails(Problem::Kind { found: found(node), wanted: "a text" })),
    }
}

pub(super) fn number(at: &At<'_>, node: &Node) -> Result<f64, RouteError> {
    match &*node.content {
        Content::Scalar(Scalar { kind: Kind::Number(number), .. }) => Ok(*number),
        _ => Err(at.fails(Problem::Kind { found: found(node), wanted: "a number" })),
    }
}

/// What says something by being there, and can say nothing else.
pub(super) fn only_true(at: &At<'_>, node: &Node) -> Result<(), RouteError> {
    match &*node.content {
        Content::Scalar(Scalar { kind: Kind::Bool(true), .. }) => Ok(()),
        _ => Err(at.fails(Problem::Kind { found: found(node), wanted: "true; leave the key out where it is not" })),
    }
}

/// A list whose entries `read` reads.
pub(super) fn list<T>(
    at: &At<'_>,
    node: &Node,
    read: impl Fn(&At<'_>, &Node) -> Result<T, RouteError>,
) -> Result<Vec<T>, RouteError> {
    let Content::List(nodes) = &*node.content else {
        return Err(at.fails(Problem::Kind { found: found(node), wanted: "a list" }));
    };
    nodes.iter().enumerate().map(|(index, node)| read(&at.entry(index), node)).collect()
}

pub(super) fn label(at: &At<'_>, node: &Node) -> Result<Label, RouteError> {
    let entries = Block::open(at, node)?.entries();
    entries.map(|(key, value)| Ok((key.to_owned(), text(&at.key(key), value)?))).collect()
}

/// What a node is, for people.
pub(super) fn found(node: &Node) -> String {
    match &*node.content {
        Content::List(_) => "a list".to_owned(),
        Content::Block(_) => "a block of keys and values".to_owned(),
        Content::Scalar(Scalar { text, kind }) => match kind {
            Kind::Nothing => "nothing".to_owned(),
            Kind::Bool(_) => text.clone(),
            Kind::Number(_) => format!("the number {text}"),
            Kind::Text => {
                let short: String = text.chars().take(40).collect();
                if short.len() < text.len() { format!("the text {short:?}…") } else { format!("the text {text:?}") }
            }
        },
    }
}
