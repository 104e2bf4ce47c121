use super::{Goal, Miss};

/// Where requests that say the same can go.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ways<'a> {
    /// The rule that applies.
    pub(crate) rule: Option<&'a str>,
    /// With the percentage of each; one of them where nothing is drawn by chance.
    pub(crate) goals: Vec<(f64, Goal<'a>)>,
    /// What counts if nobody there takes the request.
    pub(crate) miss: Miss,
}
