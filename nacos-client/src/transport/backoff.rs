//! How long to wait before the next attempt to connect.

use std::time::Duration;

/// Upper end of the wait before the first retry. All clients of a server lose it in the same instant, so they must not all return in one.
const FIRST: Duration = Duration::from_millis(100);
const BASE: Duration = Duration::from_millis(100);

/// The longest wait after each kind of end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cap {
    /// Nobody listens there. Asking costs both sides one packet, and whoever restarts the server waits for the answer.
    Refused,
    /// Everything else may have cost the server work.
    Usual,
}

impl Cap {
    const fn longest(self) -> Duration {
        match self {
            Self::Refused => Duration::from_secs(1),
            Self::Usual => Duration::from_secs(5),
        }
    }
}

/// The wait after `failures` failures in a row: random 0–100 ms after none, then 100 ms × 2^n ± 50 %, at most 5 s, or 1 s
/// where nobody listens.
pub(super) fn delay(failures: u32, cap: Cap, rng: &mut fastrand::Rng) -> Duration {
    let Some(doublings) = failures.checked_sub(1) else {
        return FIRST.mul_f64(rng.f64());
    };
    let whole = BASE.saturating_mul(1 << doublings.min(16)).min(cap.longest());
    whole.mul_f64(0.5 + rng.f64()).min(cap.longest())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn stays_within_its_bounds(failures: u32, refused: bool, seed: u64) {
            let cap = if refused { Cap::Refused } else { Cap::Usual };
            let delay = delay(failures, cap, &mut fastrand::Rng::with_seed(seed));
            let longest = cap.longest();
            if failures == 0 {
                prop_assert!(delay <= FIRST);
            } else {
                let whole = BASE.saturating_mul(2u32.saturating_pow(failures - 1)).min(longest);
                prop_assert!(delay >= whole / 2 && delay <= whole.mul_f64(1.5).min(longest), "{delay:?}");
            }
        }
    }

    #[test]
    fn clients_do_not_return_in_step() {
        let mut rng = fastrand::Rng::with_seed(1);
        let delays: Vec<Duration> = (0..100).map(|_| delay(0, Cap::Usual, &mut rng)).collect();
        assert!(delays.iter().any(|d| *d < FIRST / 4) && delays.iter().any(|d| *d > FIRST * 3 / 4));
    }
}
