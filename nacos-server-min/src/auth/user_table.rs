use std::collections::BTreeMap;
use std::fmt;

/// Users and their passwords. Shown without these.
#[derive(Clone, Default)]
pub(crate) struct UserTable(BTreeMap<String, String>);

impl UserTable {
    /// Adds a user, or changes the password of one.
    pub(crate) fn put(&mut self, name: String, password: String) {
        self.0.insert(name, password);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is a user without a name or without a password, whom everybody could pass for.
    pub(crate) fn without_password(&self) -> bool {
        self.0.iter().any(|(name, password)| name.trim().is_empty() || password.is_empty())
    }

    /// Whether this is the password of a user of that name. How long it takes tells neither where a wrong password of the right length differs, nor
    /// anything else of it; it may tell the length, and whether there is such a user.
    pub(crate) fn knows(&self, name: &str, password: &str) -> bool {
        self.0.get(name).is_some_and(|own| is_same(own.as_bytes(), password.as_bytes()))
    }
}

fn is_same(own: &[u8], given: &[u8]) -> bool {
    let differing = own.iter().zip(given).fold(0, |seen, (a, b)| seen | (a ^ b));
    own.len() == given.len() && differing == 0
}

impl fmt::Debug for UserTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
