use super::super::hash::mix;
use super::support::{Bench, SEED, avoiding};
use crate::{ConsistentHash, PickContext, Picked, hash_key};

const KEYS: u64 = 100_000;

fn by_key(bench: &Bench, key: u64) -> usize {
    bench.pick(&mut PickContext::new().hashed_by(key)).unwrap()
}

/// Where each key goes, by the identity of the instance.
fn map(bench: &Bench) -> Vec<u16> {
    (0..KEYS).map(|key| bench.members[by_key(bench, mix(key))].endpoint().instance().port()).collect()
}

fn bench(weights: &[f64]) -> Bench {
    Bench::new(&ConsistentHash::new(), weights)
}

/// Across 64, where methods of choosing are often changed.
#[test]
fn sc18_who_goes_takes_only_its_own_keys_along() {
    for n in [2, 10, 64, 65, 100] {
        let (all, mut weights) = (bench(&vec![1.0; n]), vec![1.0; n]);
        let gone = n / 2;
        weights[gone] = 0.0;
        let port = all.members[gone].endpoint().instance().port();
        for (before, after) in map(&all).into_iter().zip(map(&bench(&weights))) {
            assert!(after != port && (before == after || before == port), "of {n}");
        }
    }
}

#[test]
fn sc18_who_comes_takes_only_its_share() {
    for n in [1, 9, 64, 100] {
        let mut weights = vec![1.0; n + 1];
        let after = map(&bench(&weights));
        weights[n / 2] = 0.0;
        let before = map(&bench(&weights));
        let moved = before.iter().zip(&after).filter(|(before, after)| before != after).count();
        let most = 1.5 * KEYS as f64 / (n + 1) as f64;
        assert!(moved > 0 && (moved as f64) < most, "{moved} of {most} with {n}");
    }
}

#[test]
fn sc18_shares_follow_the_weights() {
    for weights in [&[1.0, 2.0, 3.0, 4.0, 10.0][..], &[0.3; 20], &[9000.0, 1000.0]] {
        let bench = bench(weights);
        let mut seen = vec![0; weights.len()];
        (0..KEYS).for_each(|key| seen[by_key(&bench, mix(key))] += 1);
        let total: f64 = weights.iter().sum();
        for (seen, weight) in seen.iter().zip(weights) {
            let share = f64::from(*seen) / (KEYS as f64 * weight / total);
            assert!((share - 1.0).abs() < 0.1, "{share} of {weight} in {weights:?}");
        }
    }
}

#[test]
fn a_change_of_weight_moves_only_the_difference() {
    let (before, after) = (map(&bench(&[1.0, 1.0, 1.0, 1.0])), map(&bench(&[1.0, 1.0, 1.5, 1.0])));
    let port = bench(&[1.0; 4]).members[2].endpoint().instance().port();
    let moved: Vec<_> = before.iter().zip(&after).filter(|(before, after)| before != after).collect();
    // From a quarter to a third.
    assert!(moved.iter().all(|(_, after)| **after == port));
    assert!(moved.len().abs_diff(KEYS as usize / 12) < 500, "{}", moved.len());
}

/// By another program in another language, from the description of the hash and of the ranking alone.
#[test]
fn every_process_maps_keys_alike() {
    let bench = bench(&[1.0, 2.0, 3.0, 4.0, 5.0]);
    let places: Vec<_> = (0..24).map(|user| by_key(&bench, hash_key(format!("user-{user}")))).collect();
    assert_eq!(places, [4, 2, 4, 4, 2, 3, 2, 3, 3, 4, 1, 3, 4, 4, 2, 3, 4, 4, 4, 4, 3, 2, 2, 0]);
    assert_eq!(hash_key("user-4711"), 0x93be_5b5b_f114_701c);
}

/// All calls have one key, and none ends.
fn one_key(bound: f64, n: usize, calls: usize) -> Vec<u32> {
    let bench = Bench::new(&ConsistentHash::new().with_load_bound(bound), &vec![1.0; n]);
    let _calls: Vec<Picked> = (0..calls).map(|_| bench.begin(by_key(&bench, 7))).collect();
    bench.members.iter().map(|member| member.endpoint().in_flight()).collect()
}

#[test]
fn one_key_fills_nobody_beyond_the_bound() {
    for (bound, most) in [(1.25, 13), (1.0, 10), (0.2, 10), (2.0, 20), (f64::NAN, 13), (f64::INFINITY, 100)] {
        let in_flight = one_key(bound, 10, 100);
        assert_eq!((in_flight.iter().max(), in_flight.iter().sum()), (Some(&most), 100), "{bound}: {in_flight:?}");
    }
    // Of many, calls in flight are counted now and then: a third of a call more for a member.
    let in_flight = one_key(1.25, 100, 1000);
    let most = *in_flight.iter().max().unwrap();
    assert!((13..=14).contains(&most), "{in_flight:?}");
    assert_eq!(one_key(1.25, 10, 1).iter().sum::<u32>(), 1);
}

#[test]
fn a_bound_counts_those_alone_that_may_be_picked() {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let bench = bench(&[1.0; 4]);
    let tried = [bench.node(0), bench.node(1)];
    // Many calls of one that is out of the question leave the others' limits where they are.
    let mut calls: Vec<Picked> = (0..1000).map(|_| bench.begin(0)).collect();
    for _ in 0..100 {
        let at = bench.pick(&mut avoiding(&mut rng, &tried).hashed_by(7)).unwrap();
        calls.push(bench.begin(at));
    }
    let in_flight: Vec<_> = bench.members[2..].iter().map(|member| member.endpoint().in_flight()).collect();
    assert!(in_flight.iter().all(|calls| (37..=63).contains(calls)), "{in_flight:?}");
}

#[test]
fn without_a_key_picks_follow_the_weights() {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let bench = bench(&[0.1, 0.9]);
    let first = (0..100_000).filter(|_| bench.pick(&mut PickContext::new().seeded(&mut rng)) == Some(0)).count();
    assert!(first.abs_diff(10_000) <= 475, "{first}");
}

#[test]
fn a_key_whose_instance_was_tried_goes_to_its_next_and_comes_back() {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let bench = bench(&[1.0; 5]);
    let home = by_key(&bench, 7);
    let tried = [bench.node(home)];
    let next = bench.pick(&mut avoiding(&mut rng, &tried).hashed_by(7)).unwrap();
    assert!(next != home);
    assert_eq!(bench.pick(&mut avoiding(&mut rng, &tried).hashed_by(7)), Some(next));
    assert_eq!(by_key(&bench, 7), home);
}
