use std::time::Duration;

/// The middle one, the lesser of two.
pub(crate) fn median(latencies: impl IntoIterator<Item = Duration>) -> Option<Duration> {
    let mut latencies: Vec<_> = latencies.into_iter().collect();
    let middle = latencies.len().checked_sub(1)? / 2;
    Some(*latencies.select_nth_unstable(middle).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_instance_does_not_move_it() {
        let of = |milliseconds: &[u64]| median(milliseconds.iter().copied().map(Duration::from_millis));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[7]), Some(Duration::from_millis(7)));
        assert_eq!(of(&[5, 900]), Some(Duration::from_millis(5)));
        assert_eq!(of(&[900, 5, 6, 7, 8]), Some(Duration::from_millis(7)));
    }
}
