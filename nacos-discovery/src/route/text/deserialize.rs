use std::fmt;
use std::rc::Rc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::node::{Content, Entry, Node};
use super::scalar::{Kind, Scalar};

/// From any format that describes itself; without places.
impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, number, list or block")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(scalar(value.to_string(), Kind::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(scalar(value.to_string(), Kind::Number(value as f64)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(scalar(value.to_string(), Kind::Number(value as f64)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(scalar(value.to_string(), Kind::Number(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(scalar(value.to_owned(), Kind::Text))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(scalar(String::new(), Kind::Nothing))
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(scalar(String::new(), Kind::Nothing))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = list.next_element()? {
            nodes.push(node);
        }
        Ok(node(Content::List(nodes)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut block: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = block.next_entry()? {
            entries.push(Entry { key, mark: None, value });
        }
        Ok(node(Content::Block(entries)))
    }
}

fn scalar(text: String, kind: Kind) -> Node {
    node(Content::Scalar(Scalar { text, kind }))
}

fn node(content: Content) -> Node {
    Node { mark: None, content: Rc::new(content) }
}
