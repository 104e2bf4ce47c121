//! Weights: what a registration may carry, and what a received one is worth.

/// The largest weight a registry accepts; a larger or infinite received weight counts as this.
pub const MAX_WEIGHT: f64 = 10_000.0;

/// A finite weight from 0 to [`MAX_WEIGHT`]: the only kind a registration may carry.
///
/// Received weights can be anything (servers publish `NaN` and `Infinity`), so [`crate::Instance::weight`] is a plain
/// number and [`Weight::usable`] says what it is worth when an instance is picked.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Weight(f64);

impl Weight {
    /// `None` unless `value` is finite and from 0 to [`MAX_WEIGHT`].
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        // A NaN is in no range.
        (0.0..=MAX_WEIGHT).contains(&value).then_some(Self(value))
    }

    /// What a received weight is worth in a draw: `None` for NaN, zero and negative ones, at most [`MAX_WEIGHT`].
    #[must_use]
    pub fn usable(received: f64) -> Option<Self> {
        (received > 0.0).then(|| Self(received.min(MAX_WEIGHT)))
    }

    /// The number itself.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_finite_weights_in_range_can_be_registered() {
        for good in [0.0, -0.0, 0.001, 1.0, 10_000.0] {
            assert!(Weight::new(good).is_some(), "{good}");
        }
        for bad in [-0.001, 10_000.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(Weight::new(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn received_weights_are_clamped_or_excluded() {
        assert_eq!(Weight::usable(f64::INFINITY).map(Weight::get), Some(MAX_WEIGHT));
        assert_eq!(Weight::usable(1e300).map(Weight::get), Some(MAX_WEIGHT));
        assert_eq!(Weight::usable(0.5).map(Weight::get), Some(0.5));
        for none in [0.0, -0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
            assert_eq!(Weight::usable(none), None, "{none}");
        }
    }
}
