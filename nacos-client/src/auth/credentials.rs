use std::fmt;

/// Stands for a password.
const HIDDEN: &str = "***";

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

    /// `text` with the password made unreadable, in case somebody repeats it: as it is, and as a form or a path writes it.
    pub(super) fn hidden_in(&self, text: &str) -> String {
        if self.password.is_empty() {
            return text.to_owned();
        }
        let text = text.replace(&self.password, HIDDEN);
        let mut shown = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(first) = rest.chars().next() {
            let length = match encoded(rest.as_bytes(), self.password.as_bytes()) {
                Some(length) => {
                    shown.push_str(HIDDEN);
                    length
                }
                None => {
                    shown.push(first);
                    first.len_utf8()
                }
            };
            rest = rest.get(length..).unwrap_or_default();
        }
        shown
    }
}

/// How many of the first bytes of `text` are `secret`, any byte of it percent-encoded, and any blank a `+`.
fn encoded(text: &[u8], secret: &[u8]) -> Option<usize> {
    let mut rest = text;
    for byte in secret {
        rest = match rest {
            [b'%', high, low, rest @ ..] if hex(*high, *low) == Some(u32::from(*byte)) => rest,
            [b'+', rest @ ..] if *byte == b' ' => rest,
            [plain, rest @ ..] if plain == byte => rest,
            _ => return None,
        };
    }
    Some(text.len() - rest.len())
}

fn hex(high: u8, low: u8) -> Option<u32> {
    Some(char::from(high).to_digit(16)? * 16 + char::from(low).to_digit(16)?)
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("username", &self.username).finish_non_exhaustive()
    }
}
