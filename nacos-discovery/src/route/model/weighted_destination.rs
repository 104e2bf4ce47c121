use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Destination, Subject};

/// A destination and its share.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedDestination {
    /// Where to.
    pub destination: Destination,
    /// In percent, in steps of 0.01.
    pub percent: f64,
}

/// `label: { version: v2 }, percent: 10`
impl Serialize for WeightedDestination {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut block = serializer.serialize_map(Some(2))?;
        match &self.destination {
            Destination::Baseline => block.serialize_entry("baseline", &true)?,
            Destination::Label(label) => block.serialize_entry("label", label)?,
            Destination::LabelFrom { key, subject } => {
                block.serialize_entry("label-from", &LabelFrom { key, subject })?;
            }
        }
        if self.percent.fract() == 0.0 && (0.0..=100.0).contains(&self.percent) {
            block.serialize_entry("percent", &(self.percent as u32))?;
        } else {
            block.serialize_entry("percent", &self.percent)?;
        }
        block.end()
    }
}

#[derive(serde::Serialize)]
struct LabelFrom<'a> {
    key: &'a str,
    #[serde(flatten)]
    subject: &'a Subject,
}
