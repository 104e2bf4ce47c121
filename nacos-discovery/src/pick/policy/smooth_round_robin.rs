use super::sequence::Sequence;
use super::{Policy, Table};
use crate::Member;

/// Instances take turns by weight, interleaved as by Nginx' smooth weighted round robin: with weights 1 and 9 each ten
/// picks in a row go once to the first.
///
/// The order of a cycle is made when a list arrives; a pick only advances a counter that all threads share. A cycle has
/// at most 4096 slots, or one for each instance where there are more of these. Weights that would need a longer one get
/// whole slots as far as they go; the few slots that remain are drawn for by what is missing, so that shares hold for
/// any weights. Where the cycle begins is random.
///
/// Unlike Spring Cloud's `WeightedServiceInstanceListSupplier` it goes by the registered weight, fractions too, and its
/// tables do not grow with the weights.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SmoothRoundRobin;

impl SmoothRoundRobin {
    /// As by default: there is nothing to set.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

impl Policy for SmoothRoundRobin {
    fn table(&self, members: &[Member], seed: u64) -> Box<dyn Table> {
        Box::new(Sequence::new(members, Member::weight, seed))
    }
}
