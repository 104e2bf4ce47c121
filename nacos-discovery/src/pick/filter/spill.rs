/// The share of the requests that stays in the own cluster: all of them while at least `threshold` of the weight that is
/// registered there can be used, and less in proportion below that.
pub(super) fn own_share(eligible: f64, registered: f64, threshold: f64) -> f64 {
    if registered > 0.0 { (eligible / registered / threshold).min(1.0) } else { 1.0 }
}

/// The factors by which own and other weights are multiplied, so that together they keep their sum and the own ones make
/// up `share` of it.
pub(super) fn factors(own: f64, others: f64, share: f64) -> (f64, f64) {
    let total = own + others;
    (total * share / own, total * (1.0 - share) / others)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn the_share_falls_in_proportion_below_the_threshold() {
        assert!(close(own_share(10.0, 10.0, 0.8), 1.0));
        assert!(close(own_share(8.0, 10.0, 0.8), 1.0));
        assert!(close(own_share(4.0, 10.0, 0.8), 0.5));
        assert!(close(own_share(1.0, 4.0, 1.0), 0.25));
        assert!(close(own_share(0.0, 0.0, 0.8), 1.0));
    }

    #[test]
    fn weights_are_scaled_to_the_share() {
        let (own, others) = factors(1.0, 30.0, 0.5);
        assert!(close(own * 1.0, 15.5) && close(others * 30.0, 15.5));
    }
}
