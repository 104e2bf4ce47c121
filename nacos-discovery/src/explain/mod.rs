//! Why requests go where they go, or nowhere.
//!
//! ```text
//!   list, tables, calls of this process ── assemble ──▶ Explanation ◀── NearMisses, asked of the registry
//! ```

// Public API.
mod ejection_report;
mod explained_instance;
mod explained_route;
mod explanation;
mod list_state;
mod near_miss;
mod near_misses;
mod viewpoint;

// Needed by the implementation.
mod assemble;
mod by_asking;
mod by_route;
mod glance;
mod likeness;
mod listed;
mod reason;
mod see;

pub use ejection_report::EjectionReport;
pub use explained_instance::{ExplainedInstance, Standing};
pub use explained_route::{ExplainedRoute, ExplainedShare};
pub use explanation::Explanation;
pub use list_state::ListState;
pub use near_miss::NearMiss;
pub use near_misses::NearMisses;
pub(crate) use see::see;
pub use viewpoint::Viewpoint;
