use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Subject, Test};

/// What a request must have for a rule to apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
