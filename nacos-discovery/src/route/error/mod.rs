//! What is wrong with rules, and where.

mod at;
mod problem;
mod route_error;
mod route_warning;

pub(crate) use at::{At, Step};
pub use problem::Problem;
pub use route_error::RouteError;
pub use route_warning::{Doubt, RouteWarning};
