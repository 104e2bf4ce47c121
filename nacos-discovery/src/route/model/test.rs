use std::fmt;

/// What must hold for a part of a request. None holds for a part that the request does not have. Capitals count.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Test {
    /// It is this.
    Exact(String),
    /// It is one of these.
    Any(Vec<String>),
    /// It begins with this.
    Prefix(String),
    /// It matches this regular expression as a whole. The expression cannot look around or back.
    Regex(String),
    /// It is there.
    Present,
}

impl Test {
    /// It is this.
    #[must_use]
    pub fn exact(text: impl Into<String>) -> Self {
        Self::Exact(text.into())
    }

    /// It is one of these.
    #[must_use]
    pub fn any<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::Any(texts.into_iter().map(Into::into).collect())
    }

    /// It begins with this.
    #[must_use]
    pub fn prefix(text: impl Into<String>) -> Self {
        Self::Prefix(text.into())
    }

    /// It matches this regular expression as a whole.
    #[must_use]
    pub fn regex(expression: impl Into<String>) -> Self {
        Self::Regex(expression.into())
    }

    /// What it is called in a document: `exact`.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Exact(_) => "exact",
            Self::Any(_) => "any",
            Self::Prefix(_) => "prefix",
            Self::Regex(_) => "regex",
            Self::Present => "present",
        }
    }
}

/// What follows the part of the request: `is v2`, `begins with /orders`.
impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(text) => write!(f, "is {text}"),
            Self::Any(texts) => write!(f, "is one of {}", texts.join(", ")),
            Self::Prefix(text) => write!(f, "begins with {text}"),
            Self::Regex(expression) => write!(f, "matches {expression}"),
            Self::Present => f.write_str("is there"),
        }
    }
}
