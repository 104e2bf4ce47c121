use super::Table;
use super::draw::Draw;
use crate::{Endpoint, Member, PickContext};

/// One pick in so many takes the first draw as it is, so that nobody is ever without requests, and what is known of
/// everybody stays fresh: a share of at least 1/(20 n) at equal weights.
const FLOOR: u64 = 20;
/// Draws for a second member that is not the first.
const DRAWS: usize = 2;

/// The better one of two that are drawn by weight. Ties go to the first, so that shares follow the weights where nobody
/// is better.
///
/// That two are compared, never all, bounds what a member gets by being the best of all: with equal weights twice its
/// share, else three times. A new or a fast one is not flooded.
#[derive(Debug)]
pub(super) struct TwoChoices {
    draw: Draw,
    cost: fn(&Endpoint) -> f64,
}

impl TwoChoices {
    pub(super) fn new(members: &[Member], cost: fn(&Endpoint) -> f64) -> Self {
        Self { draw: Draw::new(members, Member::weight), cost }
    }
}

impl Table for TwoChoices {
    fn pick(&self, members: &[Member], cx: &mut PickContext<'_>) -> Option<usize> {
        let first = self.draw.pick(members, cx)?;
        if members.len() == 1 || cx.random() < u64::MAX / FLOOR {
            return Some(first);
        }
        for _ in 0..DRAWS {
            let second = self.draw.pick(members, cx)?;
            if second != first {
                let (a, b) = ((self.cost)(members[first].endpoint()), (self.cost)(members[second].endpoint()));
                return Some(if b < a { second } else { first });
            }
        }
        Some(first)
    }
}
