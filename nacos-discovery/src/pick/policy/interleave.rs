use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An order of as many slots as `counts` sum up to, in which index `i` has `counts[i]` of them, spread so evenly that
/// after any number of slots each has had its exact part of them, give or take less than one. It is what Nginx' smooth
/// weighted round robin aims at.
///
/// The k-th slot of an index lies between the moments at which its part reaches k and k + 1; of those that may come, the
/// one that must come first does. As the parts sum up to one slot per slot, nobody is ever late.
pub(super) fn interleave(counts: &[u32]) -> Box<[u32]> {
    let cycle: u64 = counts.iter().map(|count| u64::from(*count)).sum();
    let mut later: BinaryHeap<Reverse<(u64, usize, u64)>> =
        (0..counts.len()).filter(|at| counts[*at] > 0).map(|at| Reverse((0, at, 0))).collect();
    let mut may_come = BinaryHeap::new();
    let mut order = Vec::with_capacity(cycle as usize);
    for slot in 0..cycle {
        while let Some(Reverse((from, at, turn))) = later.peek().copied() {
            if from > slot {
                break;
            }
            later.pop();
            let until = ((turn + 1) * cycle).div_ceil(u64::from(counts[at]));
            may_come.push(Reverse((until, at, turn)));
        }
        let Some(Reverse((_, at, turn))) = may_come.pop() else {
            break;
        };
        order.push(at as u32);
        let next = turn + 1;
        if next < u64::from(counts[at]) {
            later.push(Reverse((next * cycle / u64::from(counts[at]), at, next)));
        }
    }
    order.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_heavy_one_comes_between_the_light_ones() {
        assert_eq!(*interleave(&[5, 1, 1]), [0, 0, 0, 1, 0, 0, 2]);
        assert_eq!(*interleave(&[1, 1, 1]), [0, 1, 2]);
        assert_eq!(*interleave(&[2, 0, 2]), [0, 2, 0, 2]);
        assert!(interleave(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn after_any_number_of_slots_each_has_its_part(counts in proptest::collection::vec(0..60u32, 1..20)) {
            let order = interleave(&counts);
            let cycle: u32 = counts.iter().sum();
            prop_assert_eq!(order.len(), cycle as usize);
            let mut had = vec![0u32; counts.len()];
            for (slot, at) in order.iter().enumerate() {
                had[*at as usize] += 1;
                for (had, count) in had.iter().zip(&counts) {
                    let part = f64::from(*count) * (slot + 1) as f64 / f64::from(cycle);
                    prop_assert!((f64::from(*had) - part).abs() < 1.0, "{:?} at {}", order, slot);
                }
            }
        }
    }
}
