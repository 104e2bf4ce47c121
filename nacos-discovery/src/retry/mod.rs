//! The tower layer that repeats failed calls on the next instance.
//!
//! A repeated call helps one caller and costs the service, so the rules are strict: what may be repeated is decided by what
//! reached the instance and by the method ([`rules`]), how often by a budget that all callers of a service in this process
//! share ([`budget`]), and what a call is repeated with is kept only as long as it is small ([`body`]).
//!
//! ```text
//! request ─ RetryNext ─ attempt 1 ─ BalanceLayer ─ client ─▶ instance A
//!              │  rules, budget, pause
//!              └─────── attempt 2 ─ BalanceLayer ─ client ─▶ instance B, by the shared list of those tried
//! ```

mod backoff;
mod body;
mod budget;
mod course;
mod drain;
mod finding;
mod future;
mod layer;
mod marks;
mod replays;
mod rules;
mod scope;
mod service;
mod settings;

pub use body::ReplayBody;
pub(crate) use budget::SharedBudget;
pub use future::RetryNextFuture;
pub use layer::RetryNextLayer;
pub use marks::{Attempt, Idempotent};
pub use service::RetryNext;
pub use settings::RetrySettings;
