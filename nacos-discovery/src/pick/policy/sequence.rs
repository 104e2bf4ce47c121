use std::sync::atomic::{AtomicU64, Ordering};

use nacos_client::AliasTable;

use super::Table;
use super::draw::{Weigh, one_of_the_rest};
use super::interleave::interleave;
use super::quotas::Quotas;
use crate::{Member, PickContext};

/// Slots with members to be passed over that are gone along before all members are looked at. Only where those members
/// have nearly all the weight does it take more.
const STEPS: usize = 64;

/// Goes along an order that was made beforehand, round and round. All threads share the place in it.
#[derive(Debug)]
pub(super) struct Sequence {
    /// Indices of members; one more than the last stands for a slot that is drawn for.
    order: Box<[u32]>,
    shared: AliasTable,
    place: AtomicU64,
    weigh: Weigh,
}

impl Sequence {
    pub(super) fn new(members: &[Member], weigh: Weigh, seed: u64) -> Self {
        let weights: Vec<f64> = members.iter().map(weigh).collect();
        let Quotas { own: mut counts, shared, fractions } = Quotas::new(&weights);
        counts.push(shared);
        let order = interleave(&counts);
        // A random start: processes that began together do not go to the same instance together.
        let place = AtomicU64::new(seed % order.len().max(1) as u64);
        Self { order, shared: AliasTable::new(&fractions), place, weigh }
    }

    #[inline]
    fn next(&self, members: &[Member], cx: &mut PickContext<'_>) -> Option<usize> {
        let place = self.place.fetch_add(1, Ordering::Relaxed) % self.order.len() as u64;
        let at = self.order[place as usize] as usize;
        if at < members.len() { Some(at) } else { self.shared.draw(cx.random()) }
    }
}

impl Table for Sequence {
    #[inline]
    fn pick(&self, members: &[Member], cx: &mut PickContext<'_>) -> Option<usize> {
        // Each member that is passed over takes its slot with it: what it would have had goes to all others by weight,
        // not to the one after it.
        for _ in 0..self.order.len().min(STEPS) {
            let at = self.next(members, cx)?;
            if cx.takes(&members[at]) {
                return Some(at);
            }
        }
        one_of_the_rest(members, self.weigh, cx)
    }
}
