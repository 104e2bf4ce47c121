use super::two_choices::TwoChoices;
use super::{Policy, Table};
use crate::{Endpoint, Member};

/// Of two instances drawn by weight the one that would answer sooner: the estimate of its latency times the calls in
/// flight, this one included. Ties go to the first drawn, and one pick in twenty takes the first in any case: what is
/// known of a slow instance is renewed, and it gets its share back when it has become fast.
///
/// The estimate jumps to a slower sample at once and comes down by time. Failures count as slow, so that an instance
/// that fails fast attracts nothing, and a new instance begins as fast as the others are.
///
/// Weights count in the draw alone: dividing the cost by them, too, would count them twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeakEwma;

impl PeakEwma {
    /// As by default: there is nothing to set.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

impl Policy for PeakEwma {
    fn table(&self, members: &[Member], _seed: u64) -> Box<dyn Table> {
        Box::new(TwoChoices::new(members, Endpoint::cost))
    }
}
