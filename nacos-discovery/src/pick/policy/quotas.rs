/// Slots of a cycle, where not more members need one each.
const SLOTS: usize = 4096;
/// Different weights up to which a cycle is looked for that holds them all exactly.
const EXACT: usize = 64;
/// How far from a whole number the slots of a member may be for that.
const TOLERANCE: f64 = 1e-6;

/// How many slots of a cycle each member gets.
#[derive(Debug, PartialEq)]
pub(super) struct Quotas {
    /// Slots of a member's own.
    pub(super) own: Vec<u32>,
    /// Slots that are drawn for.
    pub(super) shared: u32,
    /// What each member counts in that draw: the fraction of a slot that its own ones lack.
    pub(super) fractions: Vec<f64>,
}

impl Quotas {
    /// Of members with these weights, each finite and above 0.
    pub(super) fn new(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let longest = weights.len().max(SLOTS);
        let cycle = exact(weights, total, longest).unwrap_or(longest);
        let slots = |weight: &f64| weight * cycle as f64 / total;
        let own: Vec<u32> = weights.iter().map(|weight| (slots(weight) + TOLERANCE) as u32).collect();
        let shared = (cycle as u32).saturating_sub(own.iter().sum());
        let fractions =
            weights.iter().zip(&own).map(|(weight, own)| (slots(weight) - f64::from(*own)).max(0.0)).collect();
        Self { own, shared, fractions }
    }
}

/// The shortest cycle in which every member's slots are whole.
fn exact(weights: &[f64], total: f64, longest: usize) -> Option<usize> {
    let mut different = weights.to_vec();
    different.sort_by(f64::total_cmp);
    different.dedup();
    if different.len() > EXACT {
        return None;
    }
    (weights.len()..=longest).find(|cycle| {
        different.iter().all(|weight| {
            let slots = weight * *cycle as f64 / total;
            slots > 0.5 && (slots - slots.round()).abs() < TOLERANCE
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn weights_that_have_a_short_cycle_get_it() {
        for (weights, own) in [
            (&[1.0, 9.0][..], &[1, 9][..]),
            (&[0.1, 0.9], &[1, 9]),
            (&[3.0; 5], &[1; 5]),
            (&[0.5, 1.0, 2.5], &[1, 2, 5]),
            (&[1.0, 1.0, 1.0, 97.0], &[1, 1, 1, 97]),
            (&[1.0, 4095.0], &[1, 4095]),
        ] {
            let quotas = Quotas::new(weights);
            assert_eq!((&quotas.own[..], quotas.shared), (own, 0), "{weights:?}");
        }
        assert_eq!(Quotas::new(&[1.0; 5000]).own, [1; 5000]);
    }

    #[test]
    fn what_has_no_whole_slots_is_drawn_for() {
        let quotas = Quotas::new(&[1.0, 10_000.0]);
        assert_eq!((&quotas.own[..], quotas.shared), (&[0, 4095][..], 1));
        let light = 4096.0 / 10_001.0;
        assert!((quotas.fractions[0] - light).abs() < 1e-9 && (quotas.fractions[1] - (1.0 - light)).abs() < 1e-9);
    }

    proptest! {
        /// Own slots and fractions together are each member's share, to the last bit that matters.
        #[test]
        fn nobody_gains_or_loses_by_rounding(weights in proptest::collection::vec(0.001..10_000.0f64, 1..200)) {
            let quotas = Quotas::new(&weights);
            let total: f64 = weights.iter().sum();
            let cycle = f64::from(quotas.own.iter().sum::<u32>() + quotas.shared);
            prop_assert!(cycle <= 4096.0);
            prop_assert!((quotas.fractions.iter().sum::<f64>() - f64::from(quotas.shared)).abs() < 1e-3);
            for (at, weight) in weights.iter().enumerate() {
                let slots = f64::from(quotas.own[at]) + quotas.fractions[at];
                prop_assert!((slots - weight * cycle / total).abs() < 1e-5, "{} {}", slots, weight);
            }
        }
    }
}
