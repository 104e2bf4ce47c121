//! Why requests go where they go, or nowhere.

mod likeness;
mod near_miss;
mod near_misses;

pub use near_miss::NearMiss;
pub use near_misses::NearMisses;
