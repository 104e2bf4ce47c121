//! The tower layer that sends each request to an instance of the service it names.

mod body;
mod classify;
mod error;
mod future;
mod layer;
mod rewrite;
mod service;
mod target;

pub use body::Tracked;
pub use error::{BadTarget, BalanceError};
pub use future::BalanceFuture;
pub use layer::BalanceLayer;
pub use service::Balance;
