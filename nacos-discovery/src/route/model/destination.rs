use std::fmt;

use super::{Label, Subject};

/// Where requests go.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Destination {
    /// To instances that belong to no label of the rules.
    Baseline,
    /// To instances with a label.
    Label(Label),
    /// To instances whose metadata entry has the value that the request names. A request that names none finds nobody
    /// there, so that the rule's [`crate::route::Miss`] says where it goes.
    LabelFrom {
        /// The metadata key.
        key: String,
        /// What the value is taken from: a header, a query parameter, a cookie or a tag.
        subject: Subject,
    },
}

impl Destination {
    /// Instances whose metadata entry has the value that the request names.
    #[must_use]
    pub fn label_from(key: impl Into<String>, subject: Subject) -> Self {
        Self::LabelFrom { key: key.into(), subject }
    }
}

impl From<Label> for Destination {
    fn from(label: Label) -> Self {
        Self::Label(label)
    }
}

/// `baseline`, `version=v2`, `version by header x-version`
impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Baseline => f.write_str("baseline"),
            Self::Label(label) => label.fmt(f),
            Self::LabelFrom { key, subject } => write!(f, "{key} by {subject}"),
        }
    }
}
