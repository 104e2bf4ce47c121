use std::thread;

use super::super::sequence::Sequence;
use super::support::{Bench, SEED, avoiding, count, picked, service};
use crate::{Member, PickContext, RoundRobin, SmoothRoundRobin, Table};

#[test]
fn sc02_each_window_of_a_cycle_has_the_light_one_once() {
    for weights in [[1.0, 9.0], [0.1, 0.9], [1000.0, 9000.0]] {
        let service = service(SmoothRoundRobin, &weights);
        let picks: Vec<usize> = (0..1000).map(|_| picked(&service, &mut PickContext::new())).collect();
        for window in picks.windows(10) {
            assert_eq!(window.iter().filter(|at| **at == 0).count(), 1, "{picks:?}");
        }
    }
}

#[test]
fn sc02_totals_of_many_threads_are_the_quota() {
    const THREADS: usize = 8;
    const EACH: usize = 1250;
    for weights in [&[1.0, 9.0][..], &[1.0, 2.0, 3.5, 0.25], &[1.0; 7], &[1.0, 1.0, 1.0, 97.0]] {
        let service = service(SmoothRoundRobin, weights);
        let mut totals = vec![0; weights.len()];
        thread::scope(|scope| {
            let one = || count(weights.len(), EACH, || picked(&service, &mut PickContext::new()));
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(one)).collect();
            for thread in threads {
                let seen = thread.join().unwrap();
                totals.iter_mut().zip(seen).for_each(|(total, seen)| *total += seen);
            }
        });
        let sum: f64 = weights.iter().sum();
        for (total, weight) in totals.iter().zip(weights) {
            let quota = (THREADS * EACH) as f64 * weight / sum;
            assert!((*total as f64 - quota).abs() <= THREADS as f64, "{weights:?}: {totals:?}");
        }
    }
}

#[test]
fn what_a_passed_over_one_would_have_had_goes_to_all_others_by_weight() {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let bench = Bench::new(&SmoothRoundRobin, &[1.0, 1.0, 1.0, 2.0]);
    let tried = [bench.node(1)];
    let seen = count(4, 1000, || bench.pick(&mut avoiding(&mut rng, &tried)).unwrap());
    assert_eq!(seen, [250, 0, 250, 500]);
}

#[test]
fn where_nearly_all_weight_is_passed_over_the_others_still_share_by_weight() {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let bench = Bench::new(&SmoothRoundRobin, &[1.0, 3.0, 9996.0]);
    let tried = [bench.node(2)];
    let seen = count(3, 10_000, || bench.pick(&mut avoiding(&mut rng, &tried)).unwrap());
    assert!(seen[2] == 0 && seen[0].abs_diff(2500) < 220, "{seen:?}");
}

/// A cycle of 4096 slots cannot hold these; draws for the slots that remain do.
#[test]
fn weights_that_fit_no_cycle_hold_on_average() {
    let mut rng = fastrand::Rng::with_seed(SEED);
    for (weights, deviation) in [(&[1.0, 10_000.0][..], 50.0), (&[1.0, 2.0f64.sqrt(), 3.0], 5.0)] {
        let service = service(SmoothRoundRobin, weights);
        let picks = 1_000_000;
        let seen = count(weights.len(), picks, || picked(&service, &mut PickContext::new().seeded(&mut rng)));
        let sum: f64 = weights.iter().sum();
        for (seen, weight) in seen.iter().zip(weights) {
            let quota = picks as f64 * weight / sum;
            let sigmas = (*seen as f64 - quota).abs() / (quota * (1.0 - weight / sum)).sqrt();
            assert!((*seen as f64 - quota).abs() < deviation * 2.0 || sigmas < 0.5, "{weights:?}: {seen} of {quota}");
        }
    }
}

#[test]
fn round_robin_heeds_no_weight_and_begins_anywhere() {
    let service = service(RoundRobin, &[5.0, 1.0, 0.0, 1.0]);
    let picks: Vec<usize> = (0..300).map(|_| picked(&service, &mut PickContext::new())).collect();
    for window in picks.windows(3) {
        let mut window = window.to_vec();
        window.sort_unstable();
        assert_eq!(window, [0, 1, 3]);
    }
    let bench = Bench::new(&RoundRobin, &[1.0; 100]);
    let first =
        |seed| Sequence::new(&bench.members, Member::weight, seed).pick(&bench.members, &mut PickContext::new());
    assert_eq!((first(7), first(42)), (Some(7), Some(42)));
}

/// The places of members are numbers of 32 bits, and a table is made within a few milliseconds: neither sets a limit
/// that a service could reach.
#[test]
fn ten_thousand_take_turns() {
    let bench = Bench::new(&RoundRobin, &vec![1.0; 10_000]);
    let seen = count(10_000, 20_000, || bench.pick(&mut PickContext::new()).unwrap());
    assert!(seen.iter().all(|seen| *seen == 2));
}
