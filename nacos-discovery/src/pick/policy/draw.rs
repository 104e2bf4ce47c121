use nacos_client::AliasTable;

use super::Table;
use crate::{Member, PickContext};

/// Draws that may hit a member that is to be passed over before all are looked at.
const DRAWS: usize = 16;

/// What a member counts in a draw.
pub(super) type Weigh = fn(&Member) -> f64;

/// All members count the same.
pub(super) const fn evenly(_: &Member) -> f64 {
    1.0
}

/// Draws a member, independently of what was drawn before, in constant time.
#[derive(Debug)]
pub(super) struct Draw {
    alias: AliasTable,
    weigh: Weigh,
}

impl Draw {
    pub(super) fn new(members: &[Member], weigh: Weigh) -> Self {
        let weights: Vec<f64> = members.iter().map(weigh).collect();
        Self { alias: AliasTable::new(&weights), weigh }
    }
}

impl Table for Draw {
    #[inline]
    fn pick(&self, members: &[Member], cx: &mut PickContext<'_>) -> Option<usize> {
        if cx.takes_any() {
            return self.alias.draw(cx.random());
        }
        for _ in 0..DRAWS {
            let at = self.alias.draw(cx.random())?;
            if cx.takes(&members[at]) {
                return Some(at);
            }
        }
        one_of_the_rest(members, self.weigh, cx)
    }
}

/// Drawn among the members that `cx` takes, in one pass over all: the candidate is replaced with a probability of the
/// new one's share of what was seen.
#[cold]
pub(super) fn one_of_the_rest(members: &[Member], weigh: Weigh, cx: &mut PickContext<'_>) -> Option<usize> {
    let mut total = 0.0;
    let mut chosen = None;
    for (at, member) in members.iter().enumerate() {
        if cx.takes(member) {
            let weight = weigh(member);
            total += weight;
            // 53 random bits as a number from 0 up to, but not including, 1.
            let unit = (cx.random() >> 11) as f64 / (1u64 << 53) as f64;
            if chosen.is_none() || unit * total < weight {
                chosen = Some(at);
            }
        }
    }
    chosen
}
