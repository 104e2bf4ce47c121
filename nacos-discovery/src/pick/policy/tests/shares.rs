use super::super::draw::{Draw, Weigh, evenly, one_of_the_rest};
use super::support::{Bench, SEED, avoiding, count, picked, service};
use crate::{Member, PickContext, Random, Table, WeightedRandom};

const MIXED: [f64; 10] = [0.1, 0.5, 1.0, 1.0, 2.0, 3.0, 5.0, 7.5, 10.0, 100.0];
/// χ² of 9 degrees of freedom exceeds it once in a million times.
const CRITICAL: f64 = 44.81;

fn chi_squared(seen: &[usize], weights: &[f64]) -> f64 {
    let (picks, total) = (seen.iter().sum::<usize>() as f64, weights.iter().sum::<f64>());
    let part = |seen: &usize, weight: &f64| {
        let expected = picks * weight / total;
        (*seen as f64 - expected).powi(2) / expected
    };
    seen.iter().zip(weights).map(|(seen, weight)| part(seen, weight)).sum()
}

#[test]
fn sc01_picks_follow_the_weights() {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let two = service(WeightedRandom, &[0.1, 0.9]);
    let seen = count(2, 100_000, || picked(&two, &mut PickContext::new().seeded(&mut rng)));
    assert!(seen[0].abs_diff(10_000) <= 475, "{seen:?}");

    let ten = service(WeightedRandom, &MIXED);
    let seen = count(10, 100_000, || picked(&ten, &mut PickContext::new().seeded(&mut rng)));
    assert!(chi_squared(&seen, &MIXED) < CRITICAL, "{seen:?}");
}

#[test]
fn sc01_the_pass_over_all_follows_the_weights() {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let mut pass =
        |bench: &Bench| one_of_the_rest(&bench.members, Member::weight, &mut avoiding(&mut rng, &[])).unwrap();
    let two = Bench::new(&WeightedRandom, &[0.1, 0.9]);
    let seen = count(2, 100_000, || pass(&two));
    assert!(seen[0].abs_diff(10_000) <= 475, "{seen:?}");

    let ten = Bench::new(&WeightedRandom, &MIXED);
    let seen = count(10, 100_000, || pass(&ten));
    assert!(chi_squared(&seen, &MIXED) < CRITICAL, "{seen:?}");
}

#[test]
fn sc01_those_that_are_left_share_by_weight() {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let ten = Bench::new(&WeightedRandom, &MIXED);
    // Without the heaviest few draws hit; without this one, most.
    for gone in [9, 4] {
        let tried = [ten.node(gone)];
        let mut seen = count(10, 100_000, || ten.pick(&mut avoiding(&mut rng, &tried)).unwrap());
        let mut weights = MIXED.to_vec();
        assert_eq!((seen.remove(gone), weights.remove(gone)), (0, MIXED[gone]));
        assert!(chi_squared(&seen, &weights) < CRITICAL, "without {gone}: {seen:?}");
    }
}

#[test]
fn a_wrong_share_would_be_found() {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let ten = service(WeightedRandom, &MIXED);
    let seen = count(10, 100_000, || picked(&ten, &mut PickContext::new().seeded(&mut rng)));
    let mut others = MIXED;
    others[7] *= 1.15;
    assert!(chi_squared(&seen, &others) > CRITICAL, "{seen:?}");
}

#[test]
fn random_heeds_no_weight() {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let ten = service(Random, &MIXED);
    let seen = count(10, 100_000, || picked(&ten, &mut PickContext::new().seeded(&mut rng)));
    assert!(chi_squared(&seen, &[1.0; 10]) < CRITICAL, "{seen:?}");

    let bench = Bench::new(&Random, &MIXED);
    let draw = Draw::new(&bench.members, evenly as Weigh);
    let tried = [bench.node(0)];
    let seen = count(10, 90_000, || draw.pick(&bench.members, &mut avoiding(&mut rng, &tried)).unwrap());
    assert!(seen[0] == 0 && chi_squared(&seen[1..], &[1.0; 9]) < CRITICAL, "{seen:?}");
}

/// The instances of every weight that there can be.
#[test]
fn b01_a_weight_that_is_none_gets_nothing_and_the_others_everything() {
    for (weights, usable) in [
        (&[0.0][..], &[][..]),
        (&[0.0, 0.0], &[]),
        (&[f64::NAN], &[]),
        (&[-1.0], &[]),
        (&[], &[]),
        (&[0.0, 1.0], &[1]),
        (&[f64::INFINITY], &[0]),
        (&[1e-9, 1.0], &[0, 1]),
        (&[1e9, 1.0], &[0, 1]),
        (&[5e-324], &[0]),
    ] {
        for policy in super::support::policies() {
            let service = service(policy, weights);
            for key in 0..200 {
                match service.pick(&mut PickContext::new().hashed_by(key)) {
                    Ok(picked) => assert!(usable.contains(&super::support::place(picked.endpoint())), "{weights:?}"),
                    Err(_) => assert!(usable.is_empty(), "{weights:?} {service:?}"),
                }
            }
        }
    }
}
