use http::Method;

use super::matcher::Matcher;
use super::reader::Reader;
use super::sight::Sight;

/// A condition, ready to be asked.
#[derive(Debug)]
pub(super) enum PlannedCondition {
    /// The method is one of these.
    Methods(Vec<Method>),
    Value(Reader, Matcher),
}

impl PlannedCondition {
    pub(super) fn holds(&self, sight: &Sight<'_>) -> bool {
        match self {
            Self::Methods(methods) => methods.contains(sight.head.method),
            Self::Value(reader, matcher) => reader.any(sight, |value| matcher.holds(value)),
        }
    }
}
