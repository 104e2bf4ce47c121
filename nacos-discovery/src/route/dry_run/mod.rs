//! What rules would do to requests that are already known, before they do it to others.

mod outcome;
mod plan;
mod recorded_request;
mod report;
mod table;

pub use outcome::{DryRunDestination, DryRunRequest, DryRunRule};
pub use recorded_request::{RecordedRequest, RecordedRequestError};
pub use report::DryRun;
