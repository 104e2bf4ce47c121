use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// Metadata entries that an instance must have, all of them and with these values: `version=v2`. Not empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Label {
    entries: BTreeMap<String, String>,
}

impl Label {
    /// Of one entry.
    #[must_use]
    pub fn new(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { entries: BTreeMap::from([(key.into(), value.into())]) }
    }

    /// With another entry beside it.
    #[must_use]
    pub fn and(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.entries.insert(key.into(), value.into());
        self
    }

    /// The entries.
    #[must_use]
    pub const fn entries(&self) -> &BTreeMap<String, String> {
        &self.entries
    }

    /// Whether an instance with these metadata has it.
    #[must_use]
    pub fn is_of(&self, metadata: &BTreeMap<String, String>) -> bool {
        self.entries.iter().all(|(key, value)| metadata.get(key) == Some(value))
    }
}

impl FromIterator<(String, String)> for Label {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(entries: I) -> Self {
        Self { entries: entries.into_iter().collect() }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (key, value)) in self.entries.iter().enumerate() {
            write!(f, "{}{key}={value}", if at > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}
