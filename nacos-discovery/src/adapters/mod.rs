//! Clients that balanced requests can go through, ready to use. Each is a feature.

mod errors;
#[cfg(feature = "hyper")]
pub mod hyper;
#[cfg(feature = "reqwest")]
pub mod reqwest;
#[cfg(feature = "reqwest-middleware")]
pub mod reqwest_middleware;
#[cfg(feature = "tonic")]
pub mod tonic;

pub(crate) use errors::{failure, is_of_caller};
