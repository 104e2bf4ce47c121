use http::Method;

use super::matcher::Matcher;
use super::reader::Reader;
use crate::route::RequestHead;

/// A condition, ready to be asked.
#[derive(Debug)]
pub(super) enum PlannedCondition {
    /// The method is one of these.
    Methods(Vec<Method>),
    Value(Reader, Matcher),
}

impl PlannedCondition {
    pub(super) fn holds(&self, head: &RequestHead<'_>) -> bool {
        match self {
            Self::Methods(methods) => methods.contains(head.method),
            Self::Value(reader, matcher) => reader.any(head, |value| matcher.holds(value)),
        }
    }
}
