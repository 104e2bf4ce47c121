use std::fmt;
use std::sync::Arc;

/// Where a setting was found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A line of a file or text.
    Line {
        /// The file's path, or what kind of text it was.
        source: Arc<str>,
        /// The line, from 1.
        line: usize,
    },
    /// An environment variable.
    Variable(String),
    /// A call of the builder.
    Code,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { source, line } => write!(f, "{source}, line {line}"),
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::Code => f.write_str("the code"),
        }
    }
}
