//! What the examples share: a small HTTP service, a caller, command-line options, and a table of who answered how often.

mod caller;
mod http_service;
mod options;
mod shares;

pub use caller::{CallError, Caller};
pub use http_service::HttpService;
pub use nacos_discovery::serve::stop_signal;
pub use options::RegistryOptions;
pub use shares::print_shares;
