//! Which instance a request goes to.

mod context;
mod member;
mod no_instance;
mod picked;
mod policy;
mod tier;
mod tried;

pub(crate) use context::Avoid;
pub use context::PickContext;
pub use member::Member;
pub use no_instance::{NoInstance, NoInstanceReason};
pub use picked::Picked;
pub use policy::{Policy, Table, WeightedRandom};
pub(crate) use tier::Tier;
pub use tried::Tried;
