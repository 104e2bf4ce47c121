use std::collections::HashSet;

use super::values::found;
use crate::route::RouteError;
use crate::route::error::{At, Problem};
use crate::route::text::{Content, Node};

/// A block of known keys, each at most once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block<'n> {
    node: &'n Node,
}

impl<'n> Block<'n> {
    /// A block of these keys and no others.
    pub(super) fn of(at: &At<'_>, node: &'n Node, known: &[&'static str]) -> Result<Self, RouteError> {
        let block = Self::open(at, node)?;
        for (key, _) in block.entries() {
            if !known.contains(&key) {
                let problem = Problem::UnknownKey { key: key.to_owned(), nearest: nearest(key, known) };
                return Err(at.key(key).fails(problem));
            }
        }
        Ok(block)
    }

    /// A block of any keys.
    pub(super) fn open(at: &At<'_>, node: &'n Node) -> Result<Self, RouteError> {
        let Content::Block(entries) = &*node.content else {
            return Err(at.fails(Problem::Kind { found: found(node), wanted: "a block of keys and values" }));
        };
        let mut seen = HashSet::new();
        match entries.iter().find(|entry| !seen.insert(&entry.key)) {
            Some(twice) => {
                let error = at.fails(Problem::KeyTwice { key: twice.key.clone() });
                Err(error.with_mark(twice.mark))
            }
            None => Ok(Self { node }),
        }
    }

    /// Its entries from top to bottom.
    pub(super) fn entries(self) -> impl Iterator<Item = (&'n str, &'n Node)> {
        let entries = match &*self.node.content {
            Content::Block(entries) => entries.as_slice(),
            _ => &[],
        };
        entries.iter().map(|entry| (entry.key.as_str(), &entry.value))
    }

    /// The value of a key.
    pub(super) fn get(self, key: &str) -> Option<&'n Node> {
        self.entries().find(|(other, _)| *other == key).map(|(_, value)| value)
    }

    /// The value of a key that must be there.
    pub(super) fn need(self, at: &At<'_>, key: &'static str) -> Result<&'n Node, RouteError> {
        self.get(key).ok_or_else(|| at.fails(Problem::Missing { key }))
    }

    /// The one of these keys that is there, and its value.
    pub(super) fn one_of(
        self,
        at: &At<'_>,
        keys: &'static [&'static str],
    ) -> Result<(&'static str, &'n Node), RouteError> {
        let mut there = keys.iter().filter_map(|key| self.get(key).map(|value| (*key, value)));
        match (there.next(), there.next()) {
            (Some(one), None) => Ok(one),
            _ => Err(at.fails(Problem::OneOf { keys })),
        }
    }
}

/// The known key that may be meant.
fn nearest(key: &str, known: &[&'static str]) -> Option<&'static str> {
    // No known key is nearly as long, and what it takes to compare grows with the length.
    if key.len() > 64 {
        return None;
    }
    let uniform = |text: &str| text.to_lowercase().replace(['_', ' '], "-");
    let wanted = uniform(key);
    let scored = known.iter().map(|known| (strsim::damerau_levenshtein(known, &wanted), *known));
    scored.min().filter(|(distance, known)| *distance <= known.len().div_ceil(3)).map(|(_, known)| known)
}
