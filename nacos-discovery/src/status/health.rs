use serde::Serialize;

use crate::DiscoveryError;
use crate::causes::with_causes;

/// Whether a registry answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[serde(tag = "status", rename_all = "UPPERCASE")]
pub enum Health {
    /// It does.
    Up,
    /// It does not.
    Down {
        /// Why, as text for people.
        reason: String,
    },
}

impl Health {
    /// What the answer to a question says.
    #[must_use]
    pub fn of(answer: Result<(), DiscoveryError>) -> Self {
        match answer {
            Ok(()) => Self::Up,
            Err(error) => Self::Down { reason: with_causes(&error) },
        }
    }

    /// Whether it does.
    #[must_use]
    pub const fn is_up(&self) -> bool {
        matches!(self, Self::Up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_with_its_causes() {
        assert!(Health::of(Ok(())).is_up());
        let down = Health::of(Err(DiscoveryError::unavailable("no route")));
        let json = serde_json::to_value(&down).unwrap();
        assert_eq!(json, serde_json::json!({"status": "DOWN", "reason": "the registry gave no answer: no route"}));
    }
}
