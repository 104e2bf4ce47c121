//! The namespace a client works in.

use std::fmt;
use std::sync::Arc;

/// Id of the default namespace.
pub const PUBLIC_NAMESPACE: &str = "public";

/// A namespace id. Unset, `""` and `"public"` are the same namespace and are always sent as `public`, because servers
/// keep an empty one apart.
///
/// It is the *id* that counts; the display name shown by consoles is not known to the protocol.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Namespace(Arc<str>);

impl Namespace {
    /// The namespace with this id, trimmed; blank means [`PUBLIC_NAMESPACE`]. Not validated here.
    #[must_use]
    pub fn new(id: impl AsRef<str>) -> Self {
        let id = id.as_ref().trim();
        Self(Arc::from(if id.is_empty() { PUBLIC_NAMESPACE } else { id }))
    }

    /// The id as it goes over the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Namespace {
    fn default() -> Self {
        Self::new(PUBLIC_NAMESPACE)
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unset_empty_and_public_are_one() {
        assert_eq!(Namespace::new(""), Namespace::default());
        assert_eq!(Namespace::new("public"), Namespace::default());
        assert_eq!(Namespace::new("  "), Namespace::default());
        assert_ne!(Namespace::new("prod"), Namespace::default());
    }
}
