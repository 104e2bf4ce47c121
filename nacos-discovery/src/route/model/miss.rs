use std::fmt;

use serde::Serialize;

use super::Label;

/// What counts if no instance of a destination takes the request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum Miss {
    /// It goes to the baseline.
    #[default]
    Baseline,
    /// It fails.
    Fail,
    /// It goes to instances with this label.
    Label(Label),
}

/// `baseline`, `fail`, `version=v1`
impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Baseline => f.write_str("baseline"),
            Self::Fail => f.write_str("fail"),
            Self::Label(label) => label.fmt(f),
        }
    }
}
