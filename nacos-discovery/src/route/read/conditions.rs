use super::block::Block;
use super::values::{list, only_true, text};
use crate::route::error::At;
use crate::route::text::Node;
use crate::route::{Condition, RouteError, Subject, Test};

const SUBJECTS: &[&str] = &["header", "query", "cookie", "tag", "path", "method"];
/// The subjects that a value can be taken from.
pub(super) const TAKEN: &[&str] = &["header", "query", "cookie", "tag"];
/// The keys of a condition on one of these.
const NAMED: &[&str] = &["name", "exact", "any", "prefix", "regex", "present"];
const TESTS: &[&str] = &["exact", "any", "prefix", "regex", "present"];

/// `header: { name: x-version, exact: v2 }`
pub(super) fn condition(at: &At<'_>, node: &Node) -> Result<Condition, RouteError> {
    let (kind, node) = Block::of(at, node, SUBJECTS)?.one_of(at, SUBJECTS)?;
    let at = at.key(kind);
    let known = if TAKEN.contains(&kind) { NAMED } else { TESTS };
    let block = Block::of(&at, node, known)?;
    let subject = match kind {
        "path" => Subject::Path,
        "method" => Subject::Method,
        _ => named(kind, text(&at.key("name"), block.need(&at, "name")?)?),
    };
    Ok(Condition { subject, test: test(&at, block)? })
}

fn test(at: &At<'_>, block: Block<'_>) -> Result<Test, RouteError> {
    let (kind, node) = block.one_of(at, TESTS)?;
    let at = at.key(kind);
    Ok(match kind {
        "exact" => Test::Exact(text(&at, node)?),
        "any" => Test::Any(list(&at, node, text)?),
        "prefix" => Test::Prefix(text(&at, node)?),
        "regex" => Test::Regex(text(&at, node)?),
        _ => {
            only_true(&at, node)?;
            Test::Present
        }
    })
}

/// `header: x-user`, among the keys of a block.
pub(super) fn taken(at: &At<'_>, block: Block<'_>) -> Result<Subject, RouteError> {
    let (kind, node) = block.one_of(at, TAKEN)?;
    Ok(named(kind, text(&at.key(kind), node)?))
}

fn named(kind: &str, name: String) -> Subject {
    match kind {
        "header" => Subject::Header(name),
        "query" => Subject::Query(name),
        "cookie" => Subject::Cookie(name),
        _ => Subject::Tag(name),
    }
}
