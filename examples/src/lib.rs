//! What the examples share: a small HTTP service and its registration, a caller, command-line options, and a table of who
//! answered how often.

mod caller;
pub mod gateway;
mod http_service;
mod options;
mod provider;
mod shares;
mod until;

pub use caller::{CallError, Caller};
pub use http_service::HttpService;
pub use nacos_discovery::serve::stop_signal;
pub use options::RegistryOptions;
pub use provider::Provider;
pub use shares::print_shares;
pub use until::until;

/// What can go wrong in an example.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
