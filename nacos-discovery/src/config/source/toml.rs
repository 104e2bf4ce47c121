use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use super::PropertyName;
use super::document::{Document, Property};
use super::format::syntax;
use crate::config::{DiscoveryConfigError, Place};

/// The one document of a TOML text.
pub(super) fn documents(source: &Arc<str>, text: &str) -> Result<Vec<Document>, DiscoveryConfigError> {
    let lines = Lines::new(text);
    // Its own way of showing an error quotes the line, which may hold a password.
    let table = DeTable::parse(text)
        .map_err(|e| syntax(source, lines.of(e.span().map_or(0, |span| span.start)), e.message().trim_end()))?;
    let mut flat = Flat { source, lines, document: Document::default() };
    flat.table(&PropertyName::default(), table.get_ref());
    Ok(vec![flat.document])
}

/// The beginnings of a text's lines.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        Self(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1).collect())
    }

    /// The line of an offset, from 1.
    fn of(&self, offset: usize) -> usize {
        self.0.partition_point(|begin| *begin <= offset) + 1
    }
}

struct Flat<'s> {
    source: &'s Arc<str>,
    lines: Lines,
    document: Document,
}

impl Flat<'_> {
    // The parser bounds the depth.
    fn table(&mut self, name: &PropertyName, table: &DeTable<'_>) {
        for (key, value) in table {
            let line = self.lines.of(key.span().start);
            self.value(name.child(key.get_ref()), value.get_ref(), line);
        }
    }

    fn value(&mut self, name: PropertyName, value: &DeValue<'_>, line: usize) {
        let text = match value {
            DeValue::Table(table) if !table.is_empty() => return self.table(&name, table),
            DeValue::Array(values) if !values.is_empty() => {
                for (index, value) in values.iter().enumerate() {
                    let line = self.lines.of(value.span().start);
                    self.value(name.entry(&index.to_string()), value.get_ref(), line);
                }
                return;
            }
            DeValue::Table(_) | DeValue::Array(_) => String::new(),
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => number.to_string(),
                Err(_) => number.to_string(),
            },
            DeValue::Float(number) => number.to_string(),
            DeValue::Boolean(flag) => flag.to_string(),
            DeValue::Datetime(time) => time.to_string(),
        };
        let place = Place::Line { source: Arc::clone(self.source), line };
        self.document.properties.push(Property { name, text, place });
    }
}
