use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::at::Written;
use super::{Problem, Step};

/// Rules that cannot be used: what is wrong, and where.
///
/// ```text
/// routes.yaml:12:20: services.order-service.routes[2].to[0].percent: …
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteError {
    // Errors are rare, and results with them are everywhere.
    details: Box<Details>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Details {
    file: Option<Arc<str>>,
    mark: Option<(usize, usize)>,
    path: Vec<Step>,
    problem: Problem,
}

impl RouteError {
    pub(crate) fn new(path: Vec<Step>, problem: Problem) -> Self {
        Self { details: Box::new(Details { file: None, mark: None, path, problem }) }
    }

    pub(crate) fn with_mark(mut self, mark: Option<(usize, usize)>) -> Self {
        self.details.mark = mark;
        self
    }

    pub(crate) fn with_file(mut self, file: &str) -> Self {
        self.details.file = Some(file.into());
        self
    }

    /// With the place that `find` knows for its path, unless it has one.
    pub(crate) fn placed_by(mut self, find: impl FnOnce(&[Step]) -> Option<(usize, usize)>) -> Self {
        self.details.mark = self.details.mark.or_else(|| find(&self.details.path));
        self
    }

    /// The file, if the rules came from one.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.details.file.as_deref()
    }

    /// Line and column, from 1, if the rules came from a text; of the key, or of the entry of a list.
    #[must_use]
    pub fn line_and_column(&self) -> Option<(usize, usize)> {
        self.details.mark
    }

    /// Where in the document: `services.order-service.routes[2].to[0].percent`. Empty: the document as a whole.
    #[must_use]
    pub fn path(&self) -> String {
        Written(&self.details.path).to_string()
    }

    /// What is wrong.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.details.problem
    }
}

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { file, mark, path, problem } = &*self.details;
        match (file, mark) {
            (Some(file), Some((line, column))) => write!(f, "{file}:{line}:{column}: ")?,
            (Some(file), None) => write!(f, "{file}: ")?,
            (None, Some((line, column))) => write!(f, "{line}:{column}: ")?,
            (None, None) => {}
        }
        if !path.is_empty() {
            write!(f, "{}: ", Written(path))?;
        }
        problem.fmt(f)
    }
}

impl Error for RouteError {}
