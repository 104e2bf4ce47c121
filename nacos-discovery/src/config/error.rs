use std::path::PathBuf;

use super::Place;

/// Why the settings cannot be used. The first problem found; no message contains a password or key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoveryConfigError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The name of the file does not tell its format.
    #[error("{}: the name must end in .yml, .yaml, .toml or .properties", path.display())]
    Format {
        /// The file.
        path: PathBuf,
    },
    /// The text is not of its format.
    #[error("{place}: {reason}")]
    Syntax {
        /// Where it ceases to be.
        place: Place,
        /// What is wrong.
        reason: String,
    },
    /// There is no such key.
    #[error("{place}: unknown key {key}, did you mean {nearest}?")]
    UnknownKey {
        /// The key as it was written.
        key: String,
        /// Where.
        place: Place,
        /// The known key most like it.
        nearest: &'static str,
    },
    /// The value is not of the key's kind.
    #[error("{place}: {key} is {value:?}, but must be {accepted}")]
    Value {
        /// The key.
        key: String,
        /// The value, `***` for a secret.
        value: String,
        /// Where.
        place: Place,
        /// What is accepted.
        accepted: String,
    },
    /// The value has a placeholder that stands for nothing.
    #[error("{place}: {key} has the placeholder ${{{placeholder}}}, which {reason}")]
    Placeholder {
        /// The key.
        key: String,
        /// Its value's place.
        place: Place,
        /// The name within the placeholder.
        placeholder: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The key asks for something that this build does not have.
    #[error("{place}: {key} needs {feature}, which is not built in; remove the key to go on without")]
    NotBuiltIn {
        /// The key.
        key: &'static str,
        /// Where.
        place: Place,
        /// What it needs.
        feature: &'static str,
    },
}

impl DiscoveryConfigError {
    /// Never: the same settings stay wrong.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        false
    }
}
