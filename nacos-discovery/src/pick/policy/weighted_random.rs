use nacos_client::AliasTable;

use super::{Policy, Table};
use crate::{Member, PickContext};

/// Every pick is drawn by weight, independently of the others. The default; it mirrors `NacosRule` and
/// `NacosLoadBalancer`, in constant time and without their rebuilding a table per pick.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WeightedRandom;

/// Draws that may hit an instance that is to be avoided before all members are looked at.
const DRAWS: usize = 16;

#[derive(Debug)]
struct Weighted {
    alias: AliasTable,
}

impl Policy for WeightedRandom {
    fn table(&self, members: &[Member], _seed: u64) -> Box<dyn Table> {
        let weights: Vec<f64> = members.iter().map(Member::weight).collect();
        Box::new(Weighted { alias: AliasTable::new(&weights) })
    }
}

impl Table for Weighted {
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
        one_of_the_rest(members, cx)
    }
}

/// Drawn by weight among the members that `cx` takes, in one pass over all: the candidate is replaced with a probability
/// of the new one's share of what was seen.
pub(super) fn one_of_the_rest(members: &[Member], cx: &mut PickContext<'_>) -> Option<usize> {
    let mut total = 0.0;
    let mut chosen = None;
    for (at, member) in members.iter().enumerate() {
        if cx.takes(member) {
            total += member.weight();
            // 53 random bits as a number from 0 up to, but not including, 1.
            let unit = (cx.random() >> 11) as f64 / (1u64 << 53) as f64;
            if unit * total < member.weight() {
                chosen = Some(at);
            }
        }
    }
    chosen
}
