use std::fmt;

use super::{Problem, RouteError};

/// A place in a document while it is walked through, from the inside outwards. Nothing is allocated unless something fails.
#[derive(Debug, Clone, Copy)]
pub(crate) enum At<'a> {
    Root,
    Key(&'a Self, &'a str),
    Entry(&'a Self, usize),
}

/// One step of a path from the outside inwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Entry(usize),
}

impl At<'_> {
    pub(crate) const fn key<'a>(&'a self, key: &'a str) -> At<'a> {
        At::Key(self, key)
    }

    pub(crate) const fn entry(&self, index: usize) -> At<'_> {
        At::Entry(self, index)
    }

    pub(crate) fn fails(&self, problem: Problem) -> RouteError {
        RouteError::new(self.path(), problem)
    }

    pub(super) fn path(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut at = self;
        loop {
            at = match at {
                At::Root => break,
                At::Key(outer, key) => {
                    steps.push(Step::Key((*key).to_owned()));
                    outer
                }
                At::Entry(outer, index) => {
                    steps.push(Step::Entry(*index));
                    outer
                }
            };
        }
        steps.reverse();
        steps
    }
}

/// Steps as people write them: `services.order-service.routes[2]`. A key with anything odd in it is quoted.
pub(super) struct Written<'a>(pub(super) &'a [Step]);

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_odd = |c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '@' | ':' | '/');
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Entry(index) => write!(f, "[{index}]")?,
                Step::Key(key) => {
                    let dot = if at > 0 { "." } else { "" };
                    if key.is_empty() || key.chars().any(is_odd) {
                        write!(f, "{dot}{key:?}")?;
                    } else {
                        write!(f, "{dot}{key}")?;
                    }
                }
            }
        }
        Ok(())
    }
}
