//! Names: which service is meant.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The group of a service that names none.
pub const DEFAULT_GROUP: &str = "DEFAULT_GROUP";

/// A service group, `DEFAULT_GROUP` unless another is named.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupName(Arc<str>);

impl GroupName {
    /// The group with this name; blank means [`DEFAULT_GROUP`]. Not validated here.
    #[must_use]
    pub fn new(name: impl AsRef<str>) -> Self {
        let name = name.as_ref();
        Self(Arc::from(if name.trim().is_empty() { DEFAULT_GROUP } else { name }))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for GroupName {
    fn default() -> Self {
        Self::new(DEFAULT_GROUP)
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// Group and name of a service, `group@@name` in text. Cheap to clone.
///
/// The namespace is not part of it: one client works in one namespace. Clusters are not part of it either: they are
/// views on the list of one service.
#[derive(Clone)]
pub struct ServiceKey {
    /// `group@@name`, one allocation.
    text: Arc<str>,
    group_len: usize,
}

const SEPARATOR: &str = "@@";

impl ServiceKey {
    /// The key of service `name` in `group`. A `name` of the form `group@@service` is *not* taken apart here.
    #[must_use]
    pub fn new(group: impl AsRef<str>, name: impl AsRef<str>) -> Self {
        let group = group.as_ref();
        let group = if group.trim().is_empty() { DEFAULT_GROUP } else { group };
        let text = format!("{group}{SEPARATOR}{}", name.as_ref());
        Self { text: Arc::from(text), group_len: group.len() }
    }

    /// The group.
    #[must_use]
    pub fn group(&self) -> &str {
        self.text.get(..self.group_len).unwrap_or_default()
    }

    /// The bare name, without group.
    #[must_use]
    pub fn name(&self) -> &str {
        self.text.get(self.group_len + SEPARATOR.len()..).unwrap_or_default()
    }

    /// `group@@name`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn as_ref(&self) -> KeyRef<'_> {
        KeyRef { group: self.group(), name: self.name() }
    }
}

impl PartialEq for ServiceKey {
    fn eq(&self, other: &Self) -> bool {
        self.group_len == other.group_len && self.text == other.text
    }
}

impl Eq for ServiceKey {}

impl PartialOrd for ServiceKey {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ServiceKey {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_ref().cmp(&other.as_ref())
    }
}

impl Hash for ServiceKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_ref().hash(state);
    }
}

impl fmt::Display for ServiceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for ServiceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.text, f)
    }
}

/// A borrowed [`ServiceKey`] with the same hash, so that a look-up by name allocates nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct KeyRef<'a> {
    pub(crate) group: &'a str,
    pub(crate) name: &'a str,
}

mod sealed {
    #[expect(unnameable_types, reason = "that nobody can name it is what seals the trait")]
    pub trait Sealed {}
}

/// How a service is named in a call: `"name"` (group [`DEFAULT_GROUP`]), `("group", "name")` or a [`ServiceKey`].
pub trait IntoServiceKey: sealed::Sealed {
    #[doc(hidden)]
    fn group_and_name(&self) -> (&str, &str);

    /// The key named.
    fn service_key(&self) -> ServiceKey {
        let (group, name) = self.group_and_name();
        ServiceKey::new(group, name)
    }
}

impl sealed::Sealed for &str {}
impl IntoServiceKey for &str {
    fn group_and_name(&self) -> (&str, &str) {
        (DEFAULT_GROUP, self)
    }
}

impl sealed::Sealed for &String {}
impl IntoServiceKey for &String {
    fn group_and_name(&self) -> (&str, &str) {
        (DEFAULT_GROUP, self)
    }
}

impl sealed::Sealed for String {}
impl IntoServiceKey for String {
    fn group_and_name(&self) -> (&str, &str) {
        (DEFAULT_GROUP, self)
    }
}

impl<G: AsRef<str>, N: AsRef<str>> sealed::Sealed for (G, N) {}
impl<G: AsRef<str>, N: AsRef<str>> IntoServiceKey for (G, N) {
    fn group_and_name(&self) -> (&str, &str) {
        (self.0.as_ref(), self.1.as_ref())
    }
}

impl sealed::Sealed for ServiceKey {}
impl IntoServiceKey for ServiceKey {
    fn group_and_name(&self) -> (&str, &str) {
        (self.group(), self.name())
    }

    fn service_key(&self) -> ServiceKey {
        self.clone()
    }
}

impl sealed::Sealed for &ServiceKey {}
impl IntoServiceKey for &ServiceKey {
    fn group_and_name(&self) -> (&str, &str) {
        (self.group(), self.name())
    }

    fn service_key(&self) -> ServiceKey {
        (*self).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::BuildHasher;

    #[test]
    fn a_key_knows_its_parts() {
        let key = ServiceKey::new("G", "订单");
        assert_eq!((key.group(), key.name(), key.as_str()), ("G", "订单", "G@@订单"));
        assert_eq!("订单".service_key().group(), DEFAULT_GROUP);
        assert_eq!(("", "a").service_key(), "a".service_key());
    }

    #[test]
    fn keys_are_not_confused_by_separators_in_names() {
        assert_ne!(ServiceKey::new("a", "b@@c"), ServiceKey::new("a@@b", "c"));
    }

    #[test]
    fn a_borrowed_key_hashes_like_an_owned_one() {
        let state = std::hash::RandomState::new();
        let key = ServiceKey::new("G", "orders");
        assert_eq!(state.hash_one(&key), state.hash_one(KeyRef { group: "G", name: "orders" }));
    }
}
