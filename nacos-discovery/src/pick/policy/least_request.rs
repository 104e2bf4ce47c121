use super::two_choices::TwoChoices;
use super::{Policy, Table};
use crate::{Endpoint, Member};

/// Of two instances drawn by weight the one with fewer calls of this process in flight; the first drawn if they have as
/// many. One pick in twenty takes the first in any case, so that every instance gets something.
///
/// Weights count in the draw alone, so idle traffic follows them exactly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeastRequest;

impl LeastRequest {
    /// As by default: there is nothing to set.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

impl Policy for LeastRequest {
    fn table(&self, members: &[Member], _seed: u64) -> Box<dyn Table> {
        Box::new(TwoChoices::new(members, in_flight))
    }
}

fn in_flight(endpoint: &Endpoint) -> f64 {
    f64::from(endpoint.in_flight())
}
