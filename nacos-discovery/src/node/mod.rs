//! What this process knows of an instance from its own calls.

mod endpoint;
mod load;
mod outcome;
mod record;

pub use endpoint::{Endpoint, Target};
pub use outcome::{Outcome, TransportFailure};
pub(crate) use record::Node;
