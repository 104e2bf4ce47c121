use super::{Property, PropertyName, Variables};
use crate::config::Place;
use crate::config::read::Asked;

/// The settings of one source.
pub(crate) enum Layer {
    /// A text.
    Text(Vec<Property>),
    /// What the code sets: values are taken as they are, without placeholders.
    Code(Vec<Property>),
    /// The environment.
    Variables(Variables),
}

/// A value as it was found.
pub(crate) struct Found {
    /// `None` for a variable that is not valid Unicode.
    pub(crate) text: Option<String>,
    pub(crate) place: Place,
    /// Whether placeholders are put in.
    pub(crate) literal: bool,
}

impl Layer {
    /// The value of a key; of several the last.
    pub(crate) fn find(&self, key: &str) -> Option<Found> {
        match self {
            Self::Variables(variables) => variables.find(key),
            Self::Text(properties) | Self::Code(properties) => {
                let matches = |property: &&Property| property.name.after(key).is_some_and(|rest| rest.is_empty());
                properties.iter().rfind(matches).map(|property| self.found(property))
            }
        }
    }

    /// What stands below a key, with the rest of the names, in order.
    pub(crate) fn entries(&self, key: &str) -> Vec<(String, Found)> {
        match self {
            Self::Variables(variables) => variables.entries(key),
            Self::Text(properties) | Self::Code(properties) => {
                let entry = |property: &Property| {
                    let rest = property.name.after(key).filter(|rest| !rest.is_empty())?;
                    Some((rest, self.found(property)))
                };
                properties.iter().filter_map(entry).collect()
            }
        }
    }

    /// The first name below `prefix` that nobody asked for.
    pub(crate) fn unknown(&self, prefix: &str, asked: &[Asked]) -> Option<(String, Place)> {
        match self {
            Self::Variables(variables) => variables.unknown(prefix, asked),
            Self::Text(properties) | Self::Code(properties) => {
                let unknown = |property: &&Property| {
                    let below = property.name.after(prefix).is_some_and(|rest| !rest.is_empty());
                    below && !asked.iter().any(|asked| is_asked(&property.name, asked))
                };
                properties.iter().find(unknown).map(|property| (property.name.to_string(), property.place.clone()))
            }
        }
    }

    fn found(&self, property: &Property) -> Found {
        let literal = matches!(self, Self::Code(_));
        Found { text: Some(property.text.clone()), place: property.place.clone(), literal }
    }
}

fn is_asked(name: &PropertyName, asked: &Asked) -> bool {
    name.after(asked.key).is_some_and(|rest| asked.below || rest.is_empty())
}
