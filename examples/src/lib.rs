//! What the examples share: small services over HTTP and gRPC and their registration, a caller, command-line options, and a table of who
//! answered how often.

mod caller;
pub mod gateway;
// What `tonic-prost-build` makes of `proto/greeter.proto`; a test of the workspace sees to it that it still does.
#[rustfmt::skip]
#[allow(
    clippy::all,
    clippy::allow_attributes_without_reason,
    clippy::missing_errors_doc,
    clippy::or_fun_call,
    clippy::use_self,
    missing_debug_implementations,
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    reason = "generated"
)]
pub mod greeter;
mod grpc_provider;
mod http_service;
mod options;
mod provider;
mod shares;
mod until;

pub use caller::{CallError, Caller};
pub use grpc_provider::GrpcProvider;
pub use http_service::HttpService;
pub use nacos_discovery::serve::stop_signal;
pub use options::RegistryOptions;
pub use provider::Provider;
pub use shares::{print_counts, print_shares};
pub use until::until;

/// What can go wrong in an example.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
