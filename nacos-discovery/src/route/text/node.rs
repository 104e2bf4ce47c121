use std::rc::Rc;

use super::scalar::Scalar;
use crate::route::error::Step;

/// Line and column of a text, from 1.
pub(in crate::route) type Mark = (usize, usize);

/// A part of a document. Clones share their content.
#[derive(Debug, Clone)]
pub(in crate::route) struct Node {
    /// Where it stands, if it comes from a text.
    pub(in crate::route) mark: Option<Mark>,
    pub(in crate::route) content: Rc<Content>,
}

#[derive(Debug)]
pub(in crate::route) enum Content {
    Scalar(Scalar),
    List(Vec<Node>),
    Block(Vec<Entry>),
}

#[derive(Debug)]
pub(in crate::route) struct Entry {
    pub(in crate::route) key: String,
    /// Of the key.
    pub(in crate::route) mark: Option<Mark>,
    pub(in crate::route) value: Node,
}

impl Node {
    /// Where a path ends: at the key or the entry of a list, as far as the path leads.
    pub(in crate::route) fn find(&self, path: &[Step]) -> Option<Mark> {
        let (mut node, mut mark) = (self, self.mark);
        for step in path {
            let next = match (step, &*node.content) {
                (Step::Key(key), Content::Block(entries)) => {
                    entries.iter().find(|entry| entry.key == *key).map(|entry| (&entry.value, entry.mark))
                }
                (Step::Entry(index), Content::List(nodes)) => nodes.get(*index).map(|node| (node, node.mark)),
                _ => None,
            };
            let Some(next) = next else { break };
            (node, mark) = next;
        }
        mark
    }
}
