//! What the examples share: a small HTTP service, a caller, and a table of who answered how often.

mod caller;
mod http_service;
mod shares;
mod signal;

pub use caller::{CallError, Caller};
pub use http_service::HttpService;
pub use shares::print_shares;
pub use signal::stop_signal;
