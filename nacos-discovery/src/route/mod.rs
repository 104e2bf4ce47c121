//! Where requests go by what they say: a tester's to the new version, a tenth of the others, too.
//!
//! ```text
//!   RouteDocument ── check ──▶ Router, one per service ── with each list ──▶ a table for each label
//!                                  │
//!   request ── RequestHead ────────┴──▶ Route: the label, and what counts if no instance of it takes the request
//! ```

mod condition;
mod document;
mod error;
mod label;
mod request_head;
mod request_tags;
mod router;
mod rules;

pub use condition::{Condition, Subject, Test};
pub use document::RouteDocument;
pub use error::RouteError;
pub use label::Label;
pub use request_head::RequestHead;
pub use request_tags::RequestTags;
pub(crate) use router::{Goal, Miss as MissGoal, Route, Router};
pub use rules::{Destination, Miss, RouteRules, Rule, WeightedDestination};
