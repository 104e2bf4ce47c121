//! How instances are chosen among those that may take a request.

mod table;
mod weighted_random;

pub use table::{Policy, Table};
pub use weighted_random::WeightedRandom;
