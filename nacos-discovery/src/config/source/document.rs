use super::PropertyName;
use crate::config::Place;
use crate::config::read::Note;

/// A setting as it stands in a text, not yet understood.
#[derive(Clone)]
pub(crate) struct Property {
    pub(crate) name: PropertyName,
    pub(crate) text: String,
    pub(crate) place: Place,
}

/// One of the documents of a text.
#[derive(Default)]
pub(crate) struct Document {
    pub(crate) properties: Vec<Property>,
}

/// The keys that make a document one for certain occasions only.
const CONDITIONS: [&str; 3] =
    ["spring.config.activate.on-profile", "spring.profiles", "spring.config.activate.on-cloud-platform"];

/// The properties of all documents that are for every occasion, in order. There are no profiles here, so the documents
/// of profiles are left out, with one note for each.
pub(crate) fn unconditional(documents: Vec<Document>, notes: &mut Vec<Note>) -> Vec<Property> {
    let mut properties = Vec::new();
    for document in documents {
        match document.properties.iter().find(|property| is_condition(&property.name)) {
            Some(condition) => notes.push(Note::info(format!(
                "{}: this document is for {}={} only and is left out",
                condition.place, condition.name, condition.text
            ))),
            None => properties.extend(document.properties),
        }
    }
    properties
}

fn is_condition(name: &PropertyName) -> bool {
    CONDITIONS.iter().any(|key| match name.after(key) {
        // Lists of profiles; but spring.profiles.active and .include choose among them and are no condition.
        Some(rest) => rest.is_empty() || rest.bytes().all(|b| b.is_ascii_digit()),
        None => false,
    })
}
