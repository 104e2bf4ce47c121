//! What an answer or an error says of the instance.

mod classify;
mod error;
mod grpc;
mod judge;
mod reply;
mod retry_after;

pub use classify::Classify;
pub(crate) use grpc::is_grpc;
pub(super) use judge::{Expected, Judge};
pub use reply::Reply;
pub(crate) use retry_after::retry_after;
