use serde::{Deserialize, Serialize};

/// What a request must have for a rule to apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// What is looked at.
    pub subject: Subject,
    /// What must hold for it.
    pub test: Test,
}

/// A part of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// The header of this name.
    Header(String),
    /// The query parameter of this name, decoded; the first of them.
    Query(String),
    /// The cookie of this name.
    Cookie(String),
    /// The entry of this name in [`crate::route::RequestTags`].
    Tag(String),
    /// The path, as it is sent.
    Path,
    /// The method.
    Method,
}

/// What must hold for a part of a request. None holds for a part that the request does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// It is this.
    Exact(String),
    /// It is one of these.
    Any(Vec<String>),
    /// It begins with this.
    Prefix(String),
    /// It matches this regular expression as a whole.
    Regex(String),
    /// It is there.
    Present,
}
