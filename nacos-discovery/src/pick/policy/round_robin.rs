use super::draw::evenly;
use super::sequence::Sequence;
use super::{Policy, Table};
use crate::Member;

/// Instances take turns, whatever their weights are, from a random start: the default of Spring Cloud LoadBalancer
/// (`RoundRobinLoadBalancer`). Instances of weight 0 take no turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoundRobin;

impl RoundRobin {
    /// As by default: there is nothing to set.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

impl Policy for RoundRobin {
    fn table(&self, members: &[Member], seed: u64) -> Box<dyn Table> {
        Box::new(Sequence::new(members, evenly, seed))
    }
}
