/// A block of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// File and line, to be told.
    pub place: String,
    /// What stands behind the opening backticks.
    pub info: String,
    /// The lines between.
    pub code: String,
}

impl Fence {
    /// The first word of the info, as far as the first comma.
    #[must_use]
    pub fn language(&self) -> &str {
        self.info.split([',', ' ']).next().unwrap_or_default()
    }

    /// What follows the language, such as `routes` in `yaml routes`.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.info.split_once(' ').map_or("", |(_, kind)| kind.trim())
    }
}
