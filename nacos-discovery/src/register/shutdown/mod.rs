//! Leaving without a failed call: first the registry, then the listener.
//!
//! ```text
//!   hooks ─▶ deregister ─▶ wait until consumers know ─▶ stop accepting, drain ─▶ hooks ─▶ close the client
//!            bounded       ends early without traffic   bounded                 bounded  bounded
//! ```
//!
//! In the other order consumers call a closed door for as long as the registry needs to tell them.

mod hook;
mod limits;
mod once;
mod plan;
mod propagation;
mod report;
mod sequence;
mod traffic;

#[cfg(test)]
mod tests;

pub use limits::ShutdownLimits;
pub use plan::ShutdownPlan;
pub use report::{ShutdownReport, Step, StepOutcome, StepReport};
pub(super) use sequence::{Leaving, Sequence};
pub use traffic::{InFlight, Traffic};
