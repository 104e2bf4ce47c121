//! The path that all HTTP interfaces of a server stand below.

use std::{fmt, str::FromStr, sync::Arc};

use super::AddressReason;

const MAX_PATH: usize = 255;

/// A context path: empty for the root, else `/` and at least one segment, without `/` at its end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ContextPath(Arc<str>);

impl ContextPath {
    /// As a prefix of paths.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// What servers use unless they are told otherwise.
impl Default for ContextPath {
    fn default() -> Self {
        Self(Arc::from("/nacos"))
    }
}

impl fmt::Display for ContextPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Slashes around it do not matter: `nacos`, `/nacos` and `/nacos/` are the same, and so are `` and `/`.
impl FromStr for ContextPath {
    type Err = AddressReason;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let inner = text.trim().trim_matches('/');
        if inner.is_empty() {
            return Ok(Self(Arc::from("")));
        }
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~' | '/');
        if let Some(c) = inner.chars().find(|c| !allowed(*c)) {
            return Err(AddressReason::Character(c));
        }
        // Dots alone are steps between folders, which clients and servers resolve differently.
        if inner.len() > MAX_PATH || inner.split('/').any(|segment| matches!(segment, "" | "." | "..")) {
            return Err(AddressReason::Length);
        }
        Ok(Self(Arc::from(format!("/{inner}"))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_around_it_do_not_matter() {
        for (text, want) in
            [("", ""), ("/", ""), ("nacos", "/nacos"), ("/nacos/", "/nacos"), ("//a/b-c_d.e~//", "/a/b-c_d.e~")]
        {
            assert_eq!(text.parse::<ContextPath>().unwrap().as_str(), want, "{text:?}");
        }
        assert_eq!(ContextPath::default().as_str(), "/nacos");
    }

    #[test]
    fn what_is_no_plain_path_is_refused() {
        for text in ["a b", "a?b", "a#b", "a%2fb", "ä", "a\nb", "a//b", "a/../b", ".", &"a".repeat(256)] {
            assert!(text.parse::<ContextPath>().is_err(), "{text:?}");
        }
    }
}
