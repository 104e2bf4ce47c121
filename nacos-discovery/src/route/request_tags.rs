use std::collections::BTreeMap;
use std::sync::Arc;

/// What the application itself says of a request, as one of its extensions, for conditions on `tag`: a tenant, a user's class.
/// It is not sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestTags {
    tags: Arc<BTreeMap<String, String>>,
}

impl RequestTags {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With another one.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.tags).insert(name.into(), value.into());
        self
    }

    /// The value of one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.tags.get(name).map(String::as_str)
    }

    pub(crate) fn entries(&self) -> &BTreeMap<String, String> {
        &self.tags
    }
}
