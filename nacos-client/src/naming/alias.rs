//! A weighted draw in constant time: Vose's alias method over 8-byte slots.

/// One slot: with probability `threshold / 2^32` the slot's own index is drawn, else `alias`.
#[derive(Debug, Clone, Copy)]
struct Slot {
    threshold: u32,
    alias: u32,
}

/// Draws an index in proportion to its weight, in constant time: what [`crate::ServiceSnapshot::pick`] does, for balancers
/// with weights or lists of their own.
///
/// # Examples
///
/// ```
/// use nacos_client::AliasTable;
///
/// let table = AliasTable::new(&[0.0, 3.0, 1.0]);
/// assert!(matches!(table.draw(fastrand::u64(..)), Some(1 | 2)));
/// assert_eq!(AliasTable::new(&[0.0]).draw(1), None);
/// ```
#[derive(Debug, Default)]
pub struct AliasTable {
    /// As many slots as weights; none when no weight is usable.
    slots: Box<[Slot]>,
}

impl AliasTable {
    /// A table over these weights, each finite and at least 0. An index of weight 0 is never drawn.
    #[must_use]
    pub fn new(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let heaviest = (0..weights.len()).max_by(|a, b| weights[*a].total_cmp(&weights[*b]));
        let (Some(heaviest), Ok(_), true) = (heaviest, u32::try_from(weights.len()), total > 0.0) else {
            return Self::default();
        };
        // Share of each index in units of one slot.
        let mut share: Vec<f64> = weights.iter().map(|w| w * weights.len() as f64 / total).collect();
        let mut slots: Vec<Slot> =
            (0..weights.len() as u32).map(|own| Slot { threshold: u32::MAX, alias: own }).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..share.len()).partition(|at| share[*at] < 1.0);
        while let (Some(lesser), Some(greater)) = (small.pop(), large.last().copied()) {
            slots[lesser] = Slot { threshold: as_threshold(share[lesser]), alias: greater as u32 };
            share[greater] -= 1.0 - share[lesser];
            if share[greater] < 1.0 {
                large.pop();
                small.push(greater);
            }
        }
        // What is left holds one slot but for rounding, so its own index fills it: unless it has no weight at all.
        for (slot, weight) in slots.iter_mut().zip(weights) {
            if *weight <= 0.0 && slot.threshold != 0 {
                *slot = Slot { threshold: 0, alias: heaviest as u32 };
            }
        }
        Self { slots: slots.into() }
    }

    /// The index that 64 uniform random bits stand for; `None` when no weight was usable.
    #[inline]
    #[must_use]
    pub fn draw(&self, random: u64) -> Option<usize> {
        // The upper half picks the slot, the lower half decides between its two indices.
        let at = ((random >> 32) * self.slots.len() as u64) >> 32;
        let slot = self.slots.get(at as usize)?;
        // A full slot has itself as alias, so the missing 2^-32 of its threshold does no harm.
        Some(if (random as u32) < slot.threshold { at as usize } else { slot.alias as usize })
    }
}

fn as_threshold(share: f64) -> u32 {
    // The cast saturates, so rounding above 1 is a full slot. A weight above 0 keeps a chance above 0.
    let threshold = (share * 4_294_967_296.0) as u32;
    if share > 0.0 { threshold.max(1) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DRAWS: u32 = 1_000_000;

    /// χ² of 10^6 draws with a fixed seed against the weights.
    fn chi_squared(weights: &[f64]) -> f64 {
        let table = AliasTable::new(weights);
        let mut rng = fastrand::Rng::with_seed(20_240_601);
        let mut seen = vec![0u32; weights.len()];
        for _ in 0..DRAWS {
            seen[table.draw(rng.u64(..)).unwrap()] += 1;
        }
        let total: f64 = weights.iter().sum();
        seen.iter()
            .zip(weights)
            .map(|(seen, weight)| {
                let expected = weight / total * f64::from(DRAWS);
                (f64::from(*seen) - expected).powi(2) / expected
            })
            .sum()
    }

    /// The critical values of χ² for p = 0.001 with 1 and 99 degrees of freedom.
    #[test]
    fn cg26_shares_follow_the_weights() {
        for weights in [[1.0, 3.0], [0.1, 0.9], [1.0, 10_000.0], [0.001, 0.001]] {
            let x = chi_squared(&weights);
            assert!(x < 10.83, "{weights:?}: {x}");
        }
        let x = chi_squared(&[1.0; 100]);
        assert!(x < 148.23, "{x}");
    }

    #[test]
    fn a_wrong_share_would_be_found() {
        // Drawing from one table and expecting another must fail the test above.
        let table = AliasTable::new(&[1.0, 3.1]);
        let mut rng = fastrand::Rng::with_seed(1);
        let first = (0..DRAWS).filter(|_| table.draw(rng.u64(..)) == Some(0)).count() as f64;
        let expected = f64::from(DRAWS) / 4.0;
        assert!((first - expected).powi(2) / expected > 10.83, "{first}");
    }

    #[test]
    fn nothing_usable_draws_nothing() {
        for weights in [&[][..], &[0.0], &[0.0, 0.0]] {
            assert_eq!(AliasTable::new(weights).draw(u64::MAX), None);
            assert_eq!(AliasTable::new(weights).draw(0), None);
        }
    }

    /// The exact share of each index: how much of the 2^64 random numbers leads to it.
    fn exact(table: &AliasTable) -> Vec<f64> {
        let mut share = vec![0.0; table.slots.len()];
        for (own, slot) in table.slots.iter().enumerate() {
            let stay = f64::from(slot.threshold) / 4_294_967_296.0;
            share[own] += stay;
            share[slot.alias as usize] += 1.0 - stay;
        }
        share.iter().map(|s| s / table.slots.len() as f64).collect()
    }

    proptest! {
        #[test]
        fn the_table_holds_every_share(weights in proptest::collection::vec(prop_oneof![Just(0.0), 0.001..10_000.0f64], 1..300)) {
            let total: f64 = weights.iter().sum();
            let table = AliasTable::new(&weights);
            if total == 0.0 {
                prop_assert_eq!(table.draw(7), None);
            } else {
                for (share, weight) in exact(&table).iter().zip(&weights) {
                    prop_assert!((share - weight / total).abs() < 1e-8, "{} {}", share, weight / total);
                    prop_assert!(*weight > 0.0 || *share == 0.0);
                }
            }
        }
    }
}
