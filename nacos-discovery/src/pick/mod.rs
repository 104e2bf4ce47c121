//! Which instance a request goes to.

mod context;
mod few;
mod filter;
mod member;
mod no_instance;
mod picked;
mod policy;
mod route_taken;
mod tier;
mod tried;

pub(crate) use context::Avoid;
pub use context::PickContext;
pub(crate) use filter::{Candidate, Preferences, Reach, Share, Spill, target};
pub use filter::{Filter, NoAddress, OnEmpty, Verdict};
pub use member::Member;
pub use no_instance::{NoInstance, NoInstanceReason};
pub use picked::Picked;
pub use policy::{
    ConsistentHash, LeastRequest, PeakEwma, Policy, Random, RoundRobin, SmoothRoundRobin, Table, WeightedRandom,
    hash_key,
};
pub(crate) use policy::{FNV_BASIS, fnv, mix};
pub use route_taken::RouteTaken;
pub(crate) use tier::Tier;
pub use tried::Tried;
