use std::collections::BTreeSet;

use super::limits;
use crate::route::error::{At, Problem};
use crate::route::{Label, RouteError};

/// What rules say of instances. Each label and each key is there once.
#[derive(Debug, Default)]
pub(super) struct Labels {
    /// The labels that rules name.
    pub(super) fixed: Vec<Label>,
    /// The metadata keys whose value requests name.
    pub(super) taken: Vec<String>,
    /// All metadata keys: whoever has none of them is of the baseline.
    pub(super) keys: BTreeSet<String>,
}

impl Labels {
    /// The index of a label.
    pub(super) fn fix(&mut self, at: &At<'_>, label: &Label) -> Result<usize, RouteError> {
        self.mention(at, label)?;
        if let Some(known) = self.fixed.iter().position(|one| one == label) {
            return Ok(known);
        }
        if self.fixed.len() == limits::LABELS {
            return Err(at.fails(Problem::TooMany { what: "labels", limit: limits::LABELS }));
        }
        self.fixed.push(label.clone());
        Ok(self.fixed.len() - 1)
    }

    /// The index of a key whose value requests name.
    pub(super) fn take(&mut self, at: &At<'_>, key: &str) -> Result<usize, RouteError> {
        self.key(at, key)?;
        if let Some(known) = self.taken.iter().position(|one| one == key) {
            return Ok(known);
        }
        self.taken.push(key.to_owned());
        Ok(self.taken.len() - 1)
    }

    /// Notes the keys of a label.
    pub(super) fn mention(&mut self, at: &At<'_>, label: &Label) -> Result<(), RouteError> {
        if label.entries().is_empty() {
            return Err(at.fails(Problem::EmptyLabel));
        }
        for (key, value) in label.entries() {
            let at = at.key(key);
            self.key(&at, key)?;
            if value.is_empty() {
                return Err(at.fails(Problem::EmptyValue));
            }
            if value.len() > limits::VALUE {
                return Err(at.fails(Problem::TooLong { limit: limits::VALUE }));
            }
        }
        Ok(())
    }

    fn key(&mut self, at: &At<'_>, key: &str) -> Result<(), RouteError> {
        if key.is_empty() {
            return Err(at.fails(Problem::EmptyKey));
        }
        if key.len() > limits::NAME {
            return Err(at.fails(Problem::TooLong { limit: limits::NAME }));
        }
        self.keys.insert(key.to_owned());
        Ok(())
    }
}
