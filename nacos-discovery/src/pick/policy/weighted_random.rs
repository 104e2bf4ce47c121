use super::draw::Draw;
use super::{Policy, Table};
use crate::Member;

/// Every pick is drawn by weight, independently of the others. The default; it mirrors `NacosRule` and
/// `NacosLoadBalancer`, in constant time and without their rebuilding a table per pick.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WeightedRandom;

impl WeightedRandom {
    /// As by default: there is nothing to set.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

impl Policy for WeightedRandom {
    fn table(&self, members: &[Member], _seed: u64) -> Box<dyn Table> {
        Box::new(Draw::new(members, Member::weight))
    }
}
