use super::draw::{Draw, evenly};
use super::{Policy, Table};
use crate::Member;

/// Every pick is drawn evenly, whatever the weights are, like Spring Cloud's `RandomLoadBalancer`. Instances of weight 0
/// take nothing here either.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Random;

impl Random {
    /// As by default: there is nothing to set.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

impl Policy for Random {
    fn table(&self, members: &[Member], _seed: u64) -> Box<dyn Table> {
        Box::new(Draw::new(members, evenly))
    }
}
