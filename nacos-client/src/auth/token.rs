use std::{fmt, sync::Arc};

use http::HeaderValue;

/// How a server wants to be shown a token in an `Authorization` header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// Behind the word `Bearer`, as Nacos itself shows it with each login from 1.2 on.
    Bearer,
    /// Alone, as r-nacos looks it up. It shows none with its logins.
    Bare,
}

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
    pub(super) fn new(version: u64, text: &str, scheme: Scheme) -> Option<Self> {
        let shown = match scheme {
            Scheme::Bearer => format!("Bearer {text}"),
            Scheme::Bare => text.to_owned(),
        };
        let mut header = HeaderValue::try_from(shown).ok()?;
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

    /// The value of an `Authorization` header. No server reads the token from another header, and in a URL it would be written into logs.
    pub(crate) fn header(&self) -> HeaderValue {
        self.header.clone()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("version", &self.version).finish_non_exhaustive()
    }
}
