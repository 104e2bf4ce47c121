use super::draw::Draw;
use super::load_limit::LoadLimit;
use super::ranking::{Fit, Ranking};
use super::{Policy, Table};
use crate::{Member, PickContext};

/// How many times its part of all calls in flight an instance may have.
const LOAD_BOUND: f64 = 1.25;

/// Requests with the same key go to the same instance, from every process that has the same list; requests without a key
/// are spread by weight at random. The key is the request's [`crate::HashKey`], or what [`crate::HashOn`] names of it; who
/// picks by hand gives it to [`PickContext::hashed_by`].
///
/// * Each instance gets a share of the keys by its weight. One that goes takes only its own keys along, one that comes
///   takes only its share, and a change of weight moves only the difference.
/// * An instance that has more than its part of the calls in flight, as far as this process knows, is passed over: the
///   request goes to the next in the key's own order, which is also where it goes when the instance is gone, ejected or
///   was tried.
///
/// This is weighted rendezvous hashing, for any number of instances: one look at each per pick, a nanosecond or two.
/// A ring or Maglev's table would need less from some hundred instances on, but their points and slots depend on all
/// weights together, so they move keys of others; and a change of method at some number of instances would move nearly
/// all keys whenever that number is crossed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConsistentHash {
    load_bound: f64,
}

impl Default for ConsistentHash {
    fn default() -> Self {
        Self { load_bound: LOAD_BOUND }
    }
}

impl ConsistentHash {
    /// With a load bound of 1.25.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many times its part, by weight, of all calls in flight an instance may have: the call that comes counts among
    /// them, and the result is rounded up. Default 1.25; 1 and less make the spread even and the keys wander,
    /// [`f64::INFINITY`] keeps keys where they are at any load. NaN leaves what was set before.
    #[must_use]
    pub const fn with_load_bound(mut self, bound: f64) -> Self {
        if !bound.is_nan() {
            self.load_bound = bound.max(1.0);
        }
        self
    }
}

impl Policy for ConsistentHash {
    fn table(&self, members: &[Member], _seed: u64) -> Box<dyn Table> {
        Box::new(Hashed {
            ranking: Ranking::new(members),
            limit: LoadLimit::new(self.load_bound),
            draw: Draw::new(members, Member::weight),
        })
    }
}

#[derive(Debug)]
struct Hashed {
    ranking: Ranking,
    limit: LoadLimit,
    /// For requests without a key.
    draw: Draw,
}

impl Hashed {
    fn preferred(&self, members: &[Member], key: u64, cx: &PickContext<'_>) -> Option<usize> {
        let mut per_weight = self.limit.estimate(members, cx);
        self.ranking.first(key, |at| {
            let member = &members[at];
            if !cx.takes(member) {
                return Fit::Barred;
            }
            // Everybody may have one.
            let in_flight = member.endpoint().in_flight();
            if in_flight == 0 {
                return Fit::Free;
            }
            let per_weight = *per_weight.get_or_insert_with(|| self.limit.count(members, cx));
            if f64::from(in_flight) < (per_weight * member.weight()).ceil() { Fit::Free } else { Fit::Full }
        })
    }
}

impl Table for Hashed {
    fn pick(&self, members: &[Member], cx: &mut PickContext<'_>) -> Option<usize> {
        let preferred = cx.hash_key().and_then(|key| self.preferred(members, key, cx));
        preferred.or_else(|| self.draw.pick(members, cx))
    }
}
