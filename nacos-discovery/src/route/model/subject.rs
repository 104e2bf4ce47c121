use std::fmt;

use serde::Serialize;

/// A part of a request.
///
/// A request may have a header, a query parameter or a cookie several times. A condition holds if it holds for any of them;
/// where one value is taken, for a label or to be sticky by, it is the first that can be.
///
/// A value of more than 256 bytes, of the path more than 4096, counts as if it were not there. One that is not UTF-8 is
/// [`crate::route::Test::Present`], and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// The header of this name, in capitals or not.
    Header(String),
    /// The query parameter of this name. Both are decoded as HTML forms are: `+` and `%20` are a space.
    Query(String),
    /// The cookie of this name, without the quotes around its value.
    Cookie(String),
    /// The entry of this name in [`crate::route::RequestTags`].
    Tag(String),
    /// The path, as it is sent: not decoded, without the query.
    Path,
    /// The method.
    Method,
}

impl Subject {
    /// The header of this name.
    #[must_use]
    pub fn header(name: impl Into<String>) -> Self {
        Self::Header(name.into())
    }

    /// The query parameter of this name.
    #[must_use]
    pub fn query(name: impl Into<String>) -> Self {
        Self::Query(name.into())
    }

    /// The cookie of this name.
    #[must_use]
    pub fn cookie(name: impl Into<String>) -> Self {
        Self::Cookie(name.into())
    }

    /// The tag of this name.
    #[must_use]
    pub fn tag(name: impl Into<String>) -> Self {
        Self::Tag(name.into())
    }

    /// What it is called in a document: `header`.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Header(_) => "header",
            Self::Query(_) => "query",
            Self::Cookie(_) => "cookie",
            Self::Tag(_) => "tag",
            Self::Path => "path",
            Self::Method => "method",
        }
    }

    /// Its name, where there are several of the kind.
    pub(crate) const fn name(&self) -> Option<&String> {
        match self {
            Self::Header(name) | Self::Query(name) | Self::Cookie(name) | Self::Tag(name) => Some(name),
            Self::Path | Self::Method => None,
        }
    }
}

/// `header x-version`
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{} {name}", self.kind()),
            None => f.write_str(self.kind()),
        }
    }
}
