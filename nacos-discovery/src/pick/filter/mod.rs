//! Which instances of a list take requests, and in which order of preference: the same for every request.
//!
//! The rules, in their order; where one would leave nothing, what then counts is beside it.
//!
//! | rule | leaves nothing |
//! |---|---|
//! | enabled, weight above 0 | there is no instance |
//! | healthy | there is none, or the unhealthy ones are used, as the settings say |
//! | an address that can be used here | there is none |
//! | of the own cluster | it is left out |
//! | of the own zone | it is left out |
//! | of the own subset | it never does |
//! | filters of the application | each says so itself |
//!
//! Preferences make tiers: those of the own cluster and zone, those of the own cluster, all. Each contains the ones before
//! it, so that the next one helps where a tier has nobody for a request.

#[expect(clippy::module_inception, reason = "the trait is what the module is named after")]
mod filter;
mod reach;
mod spill;
mod subset;
mod target;
mod tiers;
mod verdict;

pub use filter::{Filter, OnEmpty};
pub(crate) use reach::Reach;
pub(crate) use target::target;
pub(crate) use tiers::{Candidate, Preferences, Share, Spill};
pub use verdict::{NoAddress, Verdict};
