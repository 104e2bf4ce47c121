//! Query strings and forms.

use std::fmt::{Display, Write};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything but the unreserved characters of a URI: valid in a query and in a form alike.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Parameters, encoded as they are added. No name is given twice: servers then take any of the values.
#[derive(Debug)]
pub(crate) struct Query {
    text: String,
    /// What goes before the next parameter.
    separator: Option<char>,
}

impl Query {
    /// A query behind `path`.
    pub(crate) fn of(path: &str) -> Self {
        let mut text = String::with_capacity(256);
        text.push_str(path);
        Self { text, separator: Some('?') }
    }

    /// Parameters of a form body.
    pub(crate) const fn form() -> Self {
        Self { text: String::new(), separator: None }
    }

    /// Adds one parameter.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.begin(name);
        self.text.extend(utf8_percent_encode(value, RESERVED));
        self
    }

    /// Adds one parameter whose text needs no encoding: a number or a boolean.
    pub(crate) fn with_plain(mut self, name: &str, value: impl Display) -> Self {
        self.begin(name);
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{value}");
        self
    }

    fn begin(&mut self, name: &str) {
        self.text.extend(self.separator);
        self.text.push_str(name);
        self.text.push('=');
        self.separator = Some('&');
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reserved_is_encoded() {
        let query = Query::of("/p").with("name", "G@@a b+c&d=é%").with_plain("port", 80).finish();
        assert_eq!(query, "/p?name=G%40%40a%20b%2Bc%26d%3D%C3%A9%25&port=80");
        assert_eq!(Query::form().with("beat", "{\"a\":1}").with("b", "&").finish(), "beat=%7B%22a%22%3A1%7D&b=%26");
    }
}
