use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Member, PickContext};

/// Members up to which calls in flight are counted at each pick that needs to know.
const EXACT: usize = 64;

/// How many calls a member may have in flight: so many times its part of all.
///
/// With more than 64 members all calls in flight are counted once in n/4 picks; in between every pick counts as one more
/// call. So the limit is never too low for that, and too high by a third of a call of a member of mean weight at most.
#[derive(Debug)]
pub(super) struct LoadLimit {
    factor: f64,
    picks: AtomicU64,
    in_flight: AtomicU64,
    /// The bits of the sum of weights.
    weight: AtomicU64,
}

/// Of those members that a request may go to.
struct Census {
    in_flight: u64,
    weight: f64,
}

impl LoadLimit {
    /// `factor` is at least 1.
    pub(super) const fn new(factor: f64) -> Self {
        Self { factor, picks: AtomicU64::new(0), in_flight: AtomicU64::new(0), weight: AtomicU64::new(0) }
    }

    /// What is known for a pick without counting: calls per unit of weight.
    pub(super) fn estimate(&self, members: &[Member], cx: &PickContext<'_>) -> Option<f64> {
        (members.len() > EXACT).then(|| self.per_weight(&self.recent(members, cx)))
    }

    /// By counting: calls per unit of weight.
    pub(super) fn count(&self, members: &[Member], cx: &PickContext<'_>) -> f64 {
        self.per_weight(&Census::take(members, cx))
    }

    fn per_weight(&self, census: &Census) -> f64 {
        self.factor * (census.in_flight as f64 + 1.0) / census.weight
    }

    fn recent(&self, members: &[Member], cx: &PickContext<'_>) -> Census {
        let since = self.picks.fetch_add(1, Ordering::Relaxed) % (members.len() as u64 / 4);
        if since == 0 {
            let census = Census::take(members, cx);
            self.in_flight.store(census.in_flight, Ordering::Relaxed);
            self.weight.store(census.weight.to_bits(), Ordering::Relaxed);
            return census;
        }
        let in_flight = self.in_flight.load(Ordering::Relaxed) + since;
        Census { in_flight, weight: f64::from_bits(self.weight.load(Ordering::Relaxed)) }
    }
}

impl Census {
    fn take(members: &[Member], cx: &PickContext<'_>) -> Self {
        let (mut in_flight, mut weight) = (0, 0.0);
        for member in members.iter().filter(|member| cx.takes(member)) {
            in_flight += u64::from(member.endpoint().in_flight());
            weight += member.weight();
        }
        Self { in_flight, weight }
    }
}
