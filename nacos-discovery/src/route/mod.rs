//! Where requests go by what they say: a tester's to the new version, a tenth of the others, too.
//!
//! ```text
//!   RouteDocument ── check ──▶ Router, one per service ── with each list ──▶ a table for each label
//!                                  │
//!   request ── RequestHead ────────┴──▶ Route: the label, and what counts if no instance of it takes the request
//! ```

mod dry_run;
mod error;
mod model;
mod read;
mod request_head;
mod request_tags;
mod router;
mod text;

pub use dry_run::{DryRun, DryRunDestination, DryRunRequest, DryRunRule, RecordedRequest, RecordedRequestError};
pub use error::{Doubt, Problem, RouteError, RouteWarning};
pub use model::{
    Condition, Destination, Label, Miss, RouteDocument, RouteRules, Rule, Subject, Test, WeightedDestination,
};
pub use request_head::RequestHead;
pub use request_tags::RequestTags;
pub(crate) use router::{Goal, Miss as MissGoal, Route, Router, Ways};

#[cfg(test)]
mod tests;
