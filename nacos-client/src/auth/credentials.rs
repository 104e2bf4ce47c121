use std::fmt;

/// A user and a password. Shown without the password.
///
/// A blank user means that nobody logs in.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    username: String,
    password: String,
}

impl Credentials {
    /// Blanks around the user are dropped; the password is taken as it is.
    #[must_use]
    pub fn new(username: impl AsRef<str>, password: impl Into<String>) -> Self {
        Self { username: username.as_ref().trim().to_owned(), password: password.into() }
    }

    /// The user.
    #[must_use]
    pub fn username(&self) -> &str {
        &self.username
    }

    pub(super) fn password(&self) -> &str {
        &self.password
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.username.is_empty()
    }

    /// `text` with the password made unreadable, in case somebody repeats it.
    pub(super) fn hidden_in(&self, text: &str) -> String {
        if self.password.is_empty() { text.to_owned() } else { text.replace(&self.password, "***") }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("username", &self.username).finish_non_exhaustive()
    }
}
