use serde::{Deserialize, Serialize};

use super::Destination;

/// A destination and its share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WeightedDestination {
    /// Where to.
    pub destination: Destination,
    /// In percent, in steps of 0.01.
    pub percent: f64,
}
