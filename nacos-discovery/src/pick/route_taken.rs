use std::sync::Arc;

/// Which routing rule said where a request goes, as [`crate::Hooks`] are told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteTaken {
    rule: Option<Arc<str>>,
    missed: bool,
}

impl RouteTaken {
    pub(crate) fn new(rule: Option<&str>, missed: bool) -> Self {
        Self { rule: rule.map(Arc::from), missed }
    }

    /// The name of the rule; `None` if none applied, so that the request goes to the baseline.
    #[must_use]
    pub fn rule(&self) -> Option<&str> {
        self.rule.as_deref()
    }

    /// Whether nobody of where it leads took the request, so that it went where the rule says for that case, or failed.
    #[must_use]
    pub const fn missed(&self) -> bool {
        self.missed
    }
}
