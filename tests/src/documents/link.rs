/// A link of a document to another place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// File and line, to be told.
    pub place: String,
    /// As it is written.
    pub target: String,
}

impl Link {
    /// The targets in a line, without what stands in backticks.
    pub(super) fn all(line: &str) -> impl Iterator<Item = String> {
        let outside: String = line.split('`').step_by(2).collect();
        let targets: Vec<_> = outside
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split_once(')'))
            .map(|(target, _)| target.to_owned())
            .collect();
        targets.into_iter()
    }

    /// Whether it leads out of the repository.
    #[must_use]
    pub fn is_external(&self) -> bool {
        self.target.contains("://") || self.target.starts_with("mailto:")
    }
}
