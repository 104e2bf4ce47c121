//! What this process knows of an instance from its own calls.

mod endpoint;
mod estimate;
mod load;
mod median;
mod outcome;
mod pace;
mod record;

pub(crate) use endpoint::Locality;
pub use endpoint::{Endpoint, Target};
pub(crate) use median::median;
pub use outcome::{Outcome, TransportFailure};
pub(crate) use pace::Pace;
pub(crate) use record::Node;
