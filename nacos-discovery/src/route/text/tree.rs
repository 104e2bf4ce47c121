use std::collections::HashMap;
use std::rc::Rc;

use super::node::{Content, Entry, Mark, Node};
use super::scalar::Scalar;
use crate::route::RouteError;
use crate::route::error::Problem;

/// Deeper texts are refused, so that nothing recurses without bound.
const MAX_DEPTH: usize = 32;
/// More nodes are refused: aliases of aliases make a short text as large as one likes.
const MAX_NODES: usize = 200_000;

/// Makes a tree of what a parser tells, in the order in which it stands in the text.
#[derive(Default)]
pub(super) struct Tree {
    open: Vec<Open>,
    anchors: HashMap<usize, Whole>,
    root: Option<Node>,
}

/// A node, and what it takes with everything below it, aliases put in.
#[derive(Clone)]
struct Whole {
    node: Node,
    nodes: usize,
    depth: usize,
}

/// A list or block whose end has not come yet.
struct Open {
    anchor: usize,
    mark: Mark,
    kind: OpenKind,
    nodes: usize,
    depth: usize,
}

enum OpenKind {
    List(Vec<Node>),
    Block { entries: Vec<Entry>, key: Option<(String, Mark)> },
}

/// Anchors are numbered from 1; 0 is none.
impl Tree {
    pub(super) fn scalar(&mut self, mark: Mark, anchor: usize, scalar: Scalar) -> Result<(), RouteError> {
        self.close(mark, anchor, Content::Scalar(scalar), 1, 0)
    }

    pub(super) fn open_list(&mut self, mark: Mark, anchor: usize) -> Result<(), RouteError> {
        self.open(mark, anchor, OpenKind::List(Vec::new()))
    }

    pub(super) fn open_block(&mut self, mark: Mark, anchor: usize) -> Result<(), RouteError> {
        self.open(mark, anchor, OpenKind::Block { entries: Vec::new(), key: None })
    }

    /// The end of the list or block that was opened last.
    pub(super) fn end(&mut self) -> Result<(), RouteError> {
        let Some(Open { anchor, mark, kind, nodes, depth }) = self.open.pop() else { return Ok(()) };
        let content = match kind {
            OpenKind::List(nodes) => Content::List(nodes),
            OpenKind::Block { entries, .. } => Content::Block(entries),
        };
        self.close(mark, anchor, content, nodes, depth)
    }

    pub(super) fn alias(&mut self, mark: Mark, anchor: usize) -> Result<(), RouteError> {
        let Some(mut whole) = self.anchors.get(&anchor).cloned() else {
            return Err(syntax(mark, "an alias stands within the node it names, or before it"));
        };
        whole.node.mark = Some(mark);
        self.put(mark, whole)
    }

    /// The whole tree, once everything is closed.
    pub(super) fn root(self) -> Option<Node> {
        self.root
    }

    fn open(&mut self, mark: Mark, anchor: usize, kind: OpenKind) -> Result<(), RouteError> {
        self.check_depth(mark, 0)?;
        self.open.push(Open { anchor, mark, kind, nodes: 1, depth: 0 });
        Ok(())
    }

    fn close(
        &mut self,
        mark: Mark,
        anchor: usize,
        content: Content,
        nodes: usize,
        depth: usize,
    ) -> Result<(), RouteError> {
        let whole = Whole { node: Node { mark: Some(mark), content: Rc::new(content) }, nodes, depth };
        if anchor > 0 {
            self.anchors.insert(anchor, whole.clone());
        }
        self.put(mark, whole)
    }

    fn check_depth(&self, mark: Mark, below: usize) -> Result<(), RouteError> {
        if self.open.len() + below >= MAX_DEPTH {
            return Err(syntax(mark, format!("nested more than {MAX_DEPTH} levels deep")));
        }
        Ok(())
    }

    /// Puts a whole node where it belongs.
    fn put(&mut self, mark: Mark, whole: Whole) -> Result<(), RouteError> {
        self.check_depth(mark, whole.depth)?;
        let Some(open) = self.open.last_mut() else {
            self.root = Some(whole.node);
            return Ok(());
        };
        open.depth = open.depth.max(whole.depth + 1);
        open.nodes += whole.nodes;
        if open.nodes > MAX_NODES {
            return Err(syntax(mark, format!("more than {MAX_NODES} values, those of aliases included")));
        }
        match &mut open.kind {
            OpenKind::List(nodes) => nodes.push(whole.node),
            OpenKind::Block { entries, key } => match (key.take(), &*whole.node.content) {
                (Some((key, mark)), _) => entries.push(Entry { key, mark: Some(mark), value: whole.node }),
                (None, Content::Scalar(scalar)) => *key = Some((scalar.text.clone(), mark)),
                (None, _) => return Err(syntax(mark, "a list or block stands where a key should")),
            },
        }
        Ok(())
    }
}

pub(super) fn syntax(mark: Mark, reason: impl Into<String>) -> RouteError {
    RouteError::new(Vec::new(), Problem::Syntax { reason: reason.into() }).with_mark(Some(mark))
}
