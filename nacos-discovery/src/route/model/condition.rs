use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Subject, Test};

/// What a request must have for a rule to apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// What is looked at.
    pub subject: Subject,
    /// What must hold for it.
    pub test: Test,
}

impl Condition {
    /// That this holds for that.
    #[must_use]
    pub const fn new(subject: Subject, test: Test) -> Self {
        Self { subject, test }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.subject, self.test)
    }
}

/// `header: { name: x-version, exact: v2 }`
impl Serialize for Condition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut block = serializer.serialize_map(Some(1))?;
        block.serialize_entry(self.subject.kind(), &Inner(self))?;
        block.end()
    }
}

struct Inner<'a>(&'a Condition);

impl Serialize for Inner<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut block = serializer.serialize_map(None)?;
        if let Some(name) = self.0.subject.name() {
            block.serialize_entry("name", name)?;
        }
        let key = self.0.test.kind();
        match &self.0.test {
            Test::Exact(text) | Test::Prefix(text) | Test::Regex(text) => block.serialize_entry(key, text)?,
            Test::Any(texts) => block.serialize_entry(key, texts)?,
            Test::Present => block.serialize_entry(key, &true)?,
        }
        block.end()
    }
}
