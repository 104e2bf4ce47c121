use std::{fmt, sync::Arc};

use http::HeaderValue;

/// A token and its number. Never shown.
#[derive(Clone)]
pub(crate) struct Token {
    /// The tokens of a client are numbered; a higher number is a newer token.
    version: u64,
    text: Arc<str>,
    header: HeaderValue,
}

impl Token {
    /// `None` if no header can hold `text`.
    pub(super) fn new(version: u64, text: &str) -> Option<Self> {
        let mut header = HeaderValue::try_from(format!("Bearer {text}")).ok()?;
        header.set_sensitive(true);
        Some(Self { version, text: Arc::from(text), header })
    }

    pub(super) const fn version(&self) -> u64 {
        self.version
    }

    /// The token itself.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The value of an `Authorization` header, which all servers from 1.2 on read.
    pub(crate) fn header(&self) -> HeaderValue {
        self.header.clone()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("version", &self.version).finish_non_exhaustive()
    }
}
