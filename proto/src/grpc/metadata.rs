use std::collections::BTreeMap;
use std::collections::btree_map;
use std::ops::{Deref, DerefMut};

use serde::{Serialize, Serializer};

/// Instance metadata as read: texts by name, and how many values were neither text nor number nor boolean.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetadataMap {
    entries: BTreeMap<String, String>,
    odd: usize,
}

impl MetadataMap {
    /// How many entries were left out because their value was an object or a list.
    pub fn odd(&self) -> usize {
        self.odd
    }

    /// The entries alone.
    pub fn into_entries(self) -> BTreeMap<String, String> {
        self.entries
    }

    pub(crate) fn note_odd(&mut self) {
        self.odd += 1;
    }
}

impl Deref for MetadataMap {
    type Target = BTreeMap<String, String>;

    fn deref(&self) -> &Self::Target {
        &self.entries
    }
}

impl DerefMut for MetadataMap {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.entries
    }
}

impl From<BTreeMap<String, String>> for MetadataMap {
    fn from(entries: BTreeMap<String, String>) -> Self {
        Self { entries, odd: 0 }
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for MetadataMap {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Self::from(entries.into_iter().map(|(k, v)| (k.into(), v.into())).collect::<BTreeMap<_, _>>())
    }
}

impl IntoIterator for MetadataMap {
    type Item = (String, String);
    type IntoIter = btree_map::IntoIter<String, String>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl Serialize for MetadataMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.entries.serialize(serializer)
    }
}
