use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::document::{Document, Property};
use super::format::syntax;
use super::{PropertyName, scalar};
use crate::config::{DiscoveryConfigError, Place};

/// Deeper texts are refused, so that nothing recurses without bound.
const MAX_DEPTH: usize = 64;
/// More nodes are refused: aliases of aliases make a short text as large as one likes.
const MAX_NODES: usize = 100_000;

/// A node with its line.
struct Node {
    line: usize,
    /// Levels below it, those of aliases included.
    depth: usize,
    content: Content,
}

enum Content {
    Scalar(String),
    Sequence(Vec<Rc<Node>>),
    Mapping(Vec<(String, Rc<Node>)>),
}

/// A collection whose end has not come yet.
struct Open {
    anchor: usize,
    line: usize,
    depth: usize,
    kind: OpenKind,
}

enum OpenKind {
    Sequence(Vec<Rc<Node>>),
    Mapping { entries: Vec<(String, Rc<Node>)>, key: Option<String> },
}

/// The documents of a YAML text, each as a flat list of dotted names.
pub(super) fn documents(source: &Arc<str>, text: &str) -> Result<Vec<Document>, DiscoveryConfigError> {
    let mut parser = Parser::new_from_str(text);
    let mut documents = Vec::new();
    let mut builder = Builder::new(source);
    while let Some(next) = parser.next_event() {
        let (event, span) = next.map_err(|e| syntax(source, e.marker().line(), e.info()))?;
        if matches!(event, Event::DocumentEnd) {
            let root = std::mem::replace(&mut builder, Builder::new(source)).root;
            documents.push(flatten(source, root)?);
        } else {
            builder.event(event, span.start.line())?;
        }
    }
    Ok(documents)
}

/// Makes a tree of the events of one document.
struct Builder<'s> {
    source: &'s Arc<str>,
    open: Vec<Open>,
    anchors: HashMap<usize, Rc<Node>>,
    root: Option<Rc<Node>>,
}

impl<'s> Builder<'s> {
    fn new(source: &'s Arc<str>) -> Self {
        Self { source, open: Vec::new(), anchors: HashMap::new(), root: None }
    }

    fn event(&mut self, event: Event<'_>, line: usize) -> Result<(), DiscoveryConfigError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && tag.is_none();
                let text = if plain { scalar::plain(&text).into_owned() } else { text.into_owned() };
                self.close(anchor, Node { line, depth: 0, content: Content::Scalar(text) })
            }
            Event::SequenceStart(anchor, _) => self.open(anchor, line, OpenKind::Sequence(Vec::new())),
            Event::MappingStart(anchor, _) => {
                self.open(anchor, line, OpenKind::Mapping { entries: Vec::new(), key: None })
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open { anchor, line, depth, kind }) => {
                    let content = match kind {
                        OpenKind::Sequence(nodes) => Content::Sequence(nodes),
                        OpenKind::Mapping { entries, .. } => Content::Mapping(entries),
                    };
                    self.close(anchor, Node { line, depth, content })
                }
                None => Ok(()),
            },
            Event::Alias(anchor) => match self.anchors.get(&anchor).map(Rc::clone) {
                Some(node) => self.put(node, line),
                None => {
                    Err(syntax(self.source, line, "an alias stands within the node it names, or in another document"))
                }
            },
            _ => Ok(()),
        }
    }

    fn open(&mut self, anchor: usize, line: usize, kind: OpenKind) -> Result<(), DiscoveryConfigError> {
        self.check_depth(0, line)?;
        self.open.push(Open { anchor, line, depth: 0, kind });
        Ok(())
    }

    fn close(&mut self, anchor: usize, node: Node) -> Result<(), DiscoveryConfigError> {
        let line = node.line;
        let node = Rc::new(node);
        if anchor > 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        self.put(node, line)
    }

    fn check_depth(&self, below: usize, line: usize) -> Result<(), DiscoveryConfigError> {
        if self.open.len() + below >= MAX_DEPTH {
            return Err(syntax(self.source, line, format!("nested more than {MAX_DEPTH} levels deep")));
        }
        Ok(())
    }

    /// Puts a whole node where it belongs.
    fn put(&mut self, node: Rc<Node>, line: usize) -> Result<(), DiscoveryConfigError> {
        self.check_depth(node.depth, line)?;
        if let Some(open) = self.open.last_mut() {
            open.depth = open.depth.max(node.depth + 1);
        }
        match self.open.last_mut().map(|open| &mut open.kind) {
            None => self.root = Some(node),
            Some(OpenKind::Sequence(nodes)) => nodes.push(node),
            Some(OpenKind::Mapping { entries, key }) => match (key.take(), &node.content) {
                (Some(key), _) => entries.push((key, node)),
                (None, Content::Scalar(text)) if entries.iter().any(|(other, _)| other == text && text != MERGE) => {
                    return Err(syntax(self.source, line, format!("the key {text:?} stands twice in one block")));
                }
                (None, Content::Scalar(text)) => *key = Some(text.clone()),
                (None, _) => return Err(syntax(self.source, line, "a list or block stands where a key should")),
            },
        }
        Ok(())
    }
}

/// The key whose value's entries are added to the block.
const MERGE: &str = "<<";

fn flatten(source: &Arc<str>, root: Option<Rc<Node>>) -> Result<Document, DiscoveryConfigError> {
    let mut flat = Flat { source, document: Document::default(), nodes: 0 };
    if let Some(root) = root {
        // A document without any content is a scalar.
        let empty = matches!(&root.content, Content::Scalar(text) if text.is_empty());
        if !empty && !matches!(root.content, Content::Mapping(_)) {
            return Err(syntax(source, root.line, "expected a block of keys and values"));
        }
        if !empty {
            flat.node(&PropertyName::default(), &root)?;
        }
    }
    Ok(flat.document)
}

struct Flat<'s> {
    source: &'s Arc<str>,
    document: Document,
    nodes: usize,
}

impl Flat<'_> {
    // The depth is bounded since the tree was made.
    fn node(&mut self, name: &PropertyName, node: &Node) -> Result<(), DiscoveryConfigError> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(syntax(self.source, node.line, "too large once its aliases are put in"));
        }
        match &node.content {
            Content::Scalar(text) => self.property(name.clone(), text.clone(), node.line),
            Content::Sequence(nodes) if nodes.is_empty() => self.property(name.clone(), String::new(), node.line),
            Content::Mapping(entries) if entries.is_empty() => self.property(name.clone(), String::new(), node.line),
            Content::Sequence(nodes) => {
                for (index, child) in nodes.iter().enumerate() {
                    self.node(&name.entry(&index.to_string()), child)?;
                }
            }
            Content::Mapping(entries) => {
                // Of equal names the last counts, and a block's own keys count more than what is merged into it.
                for (_, merged) in entries.iter().filter(|(key, _)| key == MERGE) {
                    self.merge(name, merged)?;
                }
                for (key, child) in entries.iter().filter(|(key, _)| key != MERGE) {
                    self.node(&name.child(key), child)?;
                }
            }
        }
        Ok(())
    }

    fn merge(&mut self, name: &PropertyName, merged: &Node) -> Result<(), DiscoveryConfigError> {
        match &merged.content {
            Content::Mapping(_) => self.node(name, merged),
            // Earlier ones of a list count more.
            Content::Sequence(nodes) => nodes.iter().rev().try_for_each(|node| self.node(name, node)),
            Content::Scalar(_) => Err(syntax(self.source, merged.line, "only blocks can be merged with <<")),
        }
    }

    fn property(&mut self, name: PropertyName, text: String, line: usize) {
        let place = Place::Line { source: Arc::clone(self.source), line };
        self.document.properties.push(Property { name, text, place });
    }
}
