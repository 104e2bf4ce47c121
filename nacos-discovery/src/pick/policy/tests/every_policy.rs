use std::sync::Arc;

use proptest::prelude::*;

use super::support::{Bench, SEED, avoiding, list, picked, place, policies, service};
use crate::node::Node;
use crate::{NoInstanceReason, PickContext, Picked};

/// Half of these take nothing.
const DRAINED: [f64; 8] = [0.0, 1.0, -0.0, 2.5, -3.0, 10_000.0, f64::NAN, 0.01];

fn takes_traffic(at: usize) -> bool {
    at % 2 == 1
}

#[test]
fn sc03_weight_zero_is_never_picked() {
    for policy in policies() {
        let mut rng = fastrand::Rng::with_seed(SEED);
        let service = service(Arc::clone(&policy), &DRAINED);
        for key in 0..1_000_000 {
            let at = picked(&service, &mut PickContext::new().seeded(&mut rng).hashed_by(key));
            assert!(takes_traffic(at), "{policy:?}: {at}");
        }
    }
}

#[test]
fn sc03_weight_zero_is_not_picked_when_others_were_tried() {
    for policy in policies() {
        let mut rng = fastrand::Rng::with_seed(SEED);
        let bench = Bench::new(&*policy, &DRAINED);
        for round in 0..10_000u64 {
            let mut tried: Vec<Arc<Node>> = Vec::new();
            for left in (0..4).rev() {
                let at = bench.pick(&mut avoiding(&mut rng, &tried).hashed_by(round)).unwrap();
                assert!(takes_traffic(place(bench.members[at].endpoint())), "{policy:?}");
                tried.push(bench.node(at));
                assert_eq!(tried.len() + left, 4);
            }
            assert_eq!(bench.pick(&mut avoiding(&mut rng, &tried).hashed_by(round)), None, "{policy:?}");
        }
    }
}

#[test]
fn sc03_where_all_are_drained_that_is_the_reason() {
    for policy in policies() {
        let service = service(policy, &[0.0, -0.0, f64::NAN, -1.0]);
        let error = service.pick(&mut PickContext::new().hashed_by(7)).unwrap_err();
        assert_eq!(error.reason, NoInstanceReason::AllDrained { count: 4 });
    }
}

fn poison() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(-1.0),
        Just(-0.0),
        Just(0.0),
        Just(1e308),
        Just(f64::MAX),
        Just(f64::MIN_POSITIVE),
        Just(5e-324),
        any::<u64>().prop_map(f64::from_bits),
    ]
}

proptest! {
    /// Whatever one instance has for a weight, each of the others can still be picked.
    #[test]
    fn sc04_no_weight_spoils_the_others(weight in poison(), good in 1usize..6, at in 0usize..6, seed: u64) {
        let mut weights = vec![1.0; good];
        let at = at.min(good);
        weights.insert(at, weight);
        for policy in policies() {
            let mut rng = fastrand::Rng::with_seed(seed);
            let service = service(Arc::clone(&policy), &weights);
            for key in 0..20 {
                let one = picked(&service, &mut PickContext::new().seeded(&mut rng).hashed_by(key));
                prop_assert!(one != at || weight > 0.0, "{:?}", policy);
            }
            let bench = Bench::new(&*policy, &weights);
            let mut tried = Vec::new();
            while let Some(one) = bench.pick(&mut avoiding(&mut rng, &tried).hashed_by(seed)) {
                tried.push(bench.node(one));
                prop_assert!(tried.len() <= weights.len());
            }
            prop_assert_eq!(tried.len(), good + usize::from(weight > 0.0), "{:?}", policy);
        }
    }

    /// All can be bad at once.
    #[test]
    fn sc04_no_weights_make_a_pick_panic(weights in proptest::collection::vec(poison(), 0..12), seed: u64) {
        let usable = weights.iter().filter(|weight| **weight > 0.0).count();
        for policy in policies() {
            let mut rng = fastrand::Rng::with_seed(seed);
            let service = service(policy, &weights);
            for key in 0..10 {
                let one = service.pick(&mut PickContext::new().seeded(&mut rng).hashed_by(key));
                prop_assert_eq!(one.is_ok(), usable > 0);
            }
        }
    }

    /// With calls that begin and end, and any members that are passed over: there is a pick if and only if a member may
    /// be picked, and it is one of those.
    #[test]
    fn a_member_is_found_if_and_only_if_there_is_one(
        weights in proptest::collection::vec(0.001..10_000.0f64, 1..90),
        steps in proptest::collection::vec((any::<u64>(), any::<Option<u64>>(), 0usize..6), 1..40),
    ) {
        for policy in policies() {
            let bench = Bench::new(&*policy, &weights);
            let mut calls: Vec<Picked> = Vec::new();
            for (seed, key, thin) in &steps {
                let mut rng = fastrand::Rng::with_seed(*seed);
                // From nobody to everybody.
                let out: Vec<bool> = weights.iter().map(|_| rng.usize(0..5) < *thin).collect();
                let tried: Vec<_> = (0..weights.len()).filter(|at| out[*at]).map(|at| bench.node(at)).collect();
                let mut cx = avoiding(&mut rng, &tried);
                if let Some(key) = key {
                    cx = cx.hashed_by(*key);
                }
                match bench.pick(&mut cx) {
                    Some(at) => {
                        prop_assert!(!out[at], "{:?}", policy);
                        calls.push(bench.begin(at));
                    }
                    None => prop_assert!(out.iter().all(|out| *out), "{:?}", policy),
                }
                if seed % 3 == 0 && !calls.is_empty() {
                    drop(calls.swap_remove(*seed as usize % calls.len()));
                }
            }
        }
    }

    /// Lists of any lengths come and go: an instance that is picked is one of the list in force.
    #[test]
    fn b04_a_pick_is_always_of_the_list_in_force(lists in proptest::collection::vec(0usize..40, 1..12), seed: u64) {
        for policy in policies() {
            let mut rng = fastrand::Rng::with_seed(seed);
            let service = service(policy, &[]);
            for (revision, n) in lists.iter().enumerate() {
                service.apply(&list(revision as u64 + 2, &vec![1.0; *n]));
                for key in 0..5 {
                    match service.pick(&mut PickContext::new().seeded(&mut rng).hashed_by(key)) {
                        Ok(picked) => prop_assert!(place(picked.endpoint()) < *n),
                        Err(_) => prop_assert_eq!(*n, 0),
                    }
                }
            }
        }
    }
}
