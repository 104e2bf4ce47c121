//! What holds for each policy, and for all.

mod choices;
mod every_policy;
mod hashing;
mod shares;
mod support;
mod turns;
