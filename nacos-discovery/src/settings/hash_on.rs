use http::HeaderName;

/// What of a request consistent hashing chooses the instance by. Requests alike in it go to the same instance while the
/// list stays as it is; a request without it is spread by weight.
///
/// A [`crate::HashKey`] among the extensions of a request counts more than any of these.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum HashOn {
    /// Nothing but a [`crate::HashKey`].
    #[default]
    Extension,
    /// The first value of this header.
    Header(HeaderName),
    /// The first value of this parameter of the query, both as they stand in the URI, not decoded.
    Query(String),
    /// The path, without the query.
    Path,
}

impl HashOn {
    /// By the first value of a parameter of the query.
    #[must_use]
    pub fn query(name: impl Into<String>) -> Self {
        Self::Query(name.into())
    }
}
