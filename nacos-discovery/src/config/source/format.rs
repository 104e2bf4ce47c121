use std::path::Path;
use std::sync::Arc;

use super::document::unconditional;
use super::{Property, properties, toml, yaml};
use crate::config::read::Note;
use crate::config::{DiscoveryConfigError, Place};

/// The formats of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Yaml,
    Toml,
    Properties,
}

impl Format {
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "yml" | "yaml" => Some(Self::Yaml),
            "toml" => Some(Self::Toml),
            "properties" => Some(Self::Properties),
            _ => None,
        }
    }

    /// What a text without a file is called.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Yaml => "YAML text",
            Self::Toml => "TOML text",
            Self::Properties => "properties text",
        }
    }
}

/// The properties of a text that are for every occasion.
pub(crate) fn read(
    format: Format,
    source: &str,
    text: &str,
    notes: &mut Vec<Note>,
) -> Result<Vec<Property>, DiscoveryConfigError> {
    let source: Arc<str> = Arc::from(source);
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let documents = match format {
        Format::Yaml => yaml::documents(&source, text)?,
        Format::Toml => toml::documents(&source, text)?,
        Format::Properties => properties::documents(&source, text)?,
    };
    Ok(unconditional(documents, notes))
}

/// A text that is not of its format.
pub(super) fn syntax(source: &Arc<str>, line: usize, reason: impl Into<String>) -> DiscoveryConfigError {
    DiscoveryConfigError::Syntax { place: Place::Line { source: Arc::clone(source), line }, reason: reason.into() }
}
