use std::time::Duration;

use crate::Outcome;

/// What an answer says of the instance that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reply {
    /// Nothing bad: also where the request was wrong.
    Fine,
    /// It failed.
    Failed,
    /// It has too much to do.
    Overloaded {
        /// The pause it asks for.
        retry_after: Option<Duration>,
    },
}

impl Reply {
    pub(super) const fn outcome(self, latency: Duration) -> Outcome {
        match self {
            Self::Fine => Outcome::Success { latency },
            Self::Failed => Outcome::ServerFailure { latency },
            Self::Overloaded { retry_after } => Outcome::Overloaded { retry_after },
        }
    }
}
