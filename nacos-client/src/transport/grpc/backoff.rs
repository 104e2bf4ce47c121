//! How long to wait before the next attempt to connect.

use std::time::Duration;

/// Upper end of the wait before the first retry. All clients of a server lose it in the same instant, so they must not all return in one.
const FIRST: Duration = Duration::from_millis(100);
const BASE: Duration = Duration::from_millis(100);
const CAP: Duration = Duration::from_secs(5);

/// The wait after `failures` failures in a row: random 0–100 ms after none, then 100 ms × 2^n ± 50 %, at most 5 s.
pub(super) fn delay(failures: u32, rng: &mut fastrand::Rng) -> Duration {
    let Some(doublings) = failures.checked_sub(1) else {
        return FIRST.mul_f64(rng.f64());
    };
    let whole = BASE.saturating_mul(1 << doublings.min(16)).min(CAP);
    whole.mul_f64(0.5 + rng.f64()).min(CAP)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn stays_within_its_bounds(failures: u32, seed: u64) {
            let delay = delay(failures, &mut fastrand::Rng::with_seed(seed));
            if failures == 0 {
                prop_assert!(delay <= FIRST);
            } else {
                let whole = BASE.saturating_mul(2u32.saturating_pow(failures - 1)).min(CAP);
                prop_assert!(delay >= whole / 2 && delay <= whole.mul_f64(1.5).min(CAP), "{delay:?}");
            }
        }
    }

    #[test]
    fn clients_do_not_return_in_step() {
        let mut rng = fastrand::Rng::with_seed(1);
        let delays: Vec<Duration> = (0..100).map(|_| delay(0, &mut rng)).collect();
        assert!(delays.iter().any(|d| *d < FIRST / 4) && delays.iter().any(|d| *d > FIRST * 3 / 4));
    }
}
