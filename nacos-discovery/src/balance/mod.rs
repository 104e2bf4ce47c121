//! The tower layer that sends each request to an instance of the service it names.

mod aimed;
mod bad_target;
mod body;
mod error;
mod future;
mod hash_key;
mod layer;
mod observe;
mod outcome;
mod rewrite;
mod running;
mod served_by;
mod service;
mod shared;
mod target;

pub use bad_target::BadTarget;
pub use body::Tracked;
pub use error::BalanceError;
pub use future::BalanceFuture;
pub use hash_key::HashKey;
pub use layer::BalanceLayer;
pub use observe::{CallInfo, Completed, Hooks};
pub use outcome::{Classify, Reply};
pub(crate) use outcome::{is_grpc, retry_after};
pub use served_by::ServedBy;
pub use service::Balance;
pub use target::ServiceRef;
