use crate::config::{DiscoveryConfigError, Place};

/// A value that was found, with everything an error about it has to tell.
#[derive(Clone)]
pub(crate) struct Setting {
    pub(crate) key: String,
    pub(crate) text: String,
    pub(crate) place: Place,
    secret: bool,
}

/// The words in names whose values no message may contain.
const SECRETS: [&str; 4] = ["password", "secret-key", "access-key", "token"];

impl Setting {
    pub(crate) fn new(key: impl Into<String>, text: String, place: Place) -> Self {
        let key = key.into();
        let uniform = key.to_ascii_lowercase().replace(['-', '_'], "");
        let secret = SECRETS.iter().any(|word| uniform.contains(&word.replace('-', "")));
        Self { key, text, place, secret }
    }

    pub(crate) fn with_text(self, text: &str) -> Self {
        Self { text: text.to_owned(), ..self }
    }

    /// The error that says what would be accepted instead.
    pub(crate) fn refused(&self, accepted: impl Into<String>) -> DiscoveryConfigError {
        let value = if self.secret { "***".to_owned() } else { self.text.clone() };
        DiscoveryConfigError::Value {
            key: self.key.clone(),
            value,
            place: self.place.clone(),
            accepted: accepted.into(),
        }
    }

    /// The value read by `parse`, which gives `None` for what is not accepted.
    pub(crate) fn parse<T>(
        &self,
        accepted: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, DiscoveryConfigError> {
        parse(&self.text).ok_or_else(|| self.refused(accepted))
    }
}
