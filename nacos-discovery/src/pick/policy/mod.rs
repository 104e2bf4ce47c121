//! How instances are chosen among those that may take a request.

mod consistent_hash;
mod draw;
mod hash;
mod interleave;
mod least_request;
mod load_limit;
mod peak_ewma;
mod quotas;
mod random;
mod ranking;
mod round_robin;
mod sequence;
mod smooth_round_robin;
mod table;
mod two_choices;
mod weighted_random;

#[cfg(test)]
mod tests;

pub use consistent_hash::ConsistentHash;
pub use hash::hash_key;
pub(crate) use hash::{FNV_BASIS, fnv, mix};
pub use least_request::LeastRequest;
pub use peak_ewma::PeakEwma;
pub use random::Random;
pub use round_robin::RoundRobin;
pub use smooth_round_robin::SmoothRoundRobin;
pub use table::{Policy, Table};
pub use weighted_random::WeightedRandom;
