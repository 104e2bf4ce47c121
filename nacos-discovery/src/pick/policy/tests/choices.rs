use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, advance};

use super::support::{Bench, SEED, count, place, service};
use crate::{Endpoints, LeastRequest, Outcome, PeakEwma, PickContext, Picked, Policy};

const ONE_HEAVY: [f64; 4] = [1.0, 1.0, 1.0, 97.0];

/// Calls that arrive one every millisecond, and last as long as `latency` says of their instance. How often each was
/// picked.
async fn traffic(service: &Endpoints, calls: usize, latency: impl Fn(usize) -> Duration) -> Vec<usize> {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let mut seen = vec![0; service.all().len()];
    let mut open: Vec<Option<(Picked, Duration)>> = Vec::new();
    let mut ends = BinaryHeap::new();
    for _ in 0..calls {
        while ends.peek().is_some_and(|Reverse((end, _))| *end <= Instant::now()) {
            let Reverse((_, call)): Reverse<(Instant, usize)> = ends.pop().expect("it was seen");
            let (picked, latency) = open[call].take().expect("it ends once");
            picked.finish(Outcome::Success { latency });
        }
        let picked = service.pick(&mut PickContext::new().seeded(&mut rng)).unwrap();
        let at = place(picked.endpoint());
        seen[at] += 1;
        ends.push(Reverse((Instant::now() + latency(at), open.len())));
        open.push(Some((picked, latency(at))));
        advance(Duration::from_millis(1)).await;
    }
    seen
}

fn share(seen: &[usize], at: usize) -> f64 {
    seen[at] as f64 / seen.iter().sum::<usize>() as f64
}

#[test]
fn b03_idle_traffic_follows_the_weights() {
    let policies: [Arc<dyn Policy>; 2] = [Arc::new(LeastRequest), Arc::new(PeakEwma)];
    for policy in policies {
        let mut rng = fastrand::Rng::with_seed(SEED);
        let bench = Bench::new(&*policy, &ONE_HEAVY);
        let seen = count(4, 100_000, || bench.pick(&mut PickContext::new().seeded(&mut rng)).unwrap());
        assert!((share(&seen, 3) - 0.97).abs() < 0.01, "{policy:?}: {seen:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn b03_calls_of_equal_latency_follow_the_weights() {
    // Each call ends before the next one begins.
    let service = service(PeakEwma, &ONE_HEAVY);
    let seen = traffic(&service, 100_000, |_| Duration::from_millis(1)).await;
    assert!((share(&seen, 3) - 0.97).abs() < 0.03, "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn b03_a_slow_heavy_instance_gets_less_than_its_weight() {
    let latency = |at| Duration::from_millis(if at == 3 { 50 } else { 5 });
    let policies: [Arc<dyn Policy>; 2] = [Arc::new(LeastRequest), Arc::new(PeakEwma)];
    for policy in policies {
        let service = service(Arc::clone(&policy), &ONE_HEAVY);
        let seen = traffic(&service, 20_000, latency).await;
        assert!(share(&seen, 3) < 0.955, "{policy:?}: {seen:?}");
        // The light ones are not flooded: three times their weight.
        assert!(seen[..3].iter().all(|seen| *seen < 600 + 120), "{policy:?}: {seen:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_one_of_four_gets_little_but_not_nothing() {
    let latency = |at| Duration::from_millis(if at == 0 { 50 } else { 5 });
    let policies: [(Arc<dyn Policy>, f64); 2] = [(Arc::new(LeastRequest), 0.12), (Arc::new(PeakEwma), 0.06)];
    for (policy, most) in policies {
        let service = service(Arc::clone(&policy), &[1.0; 4]);
        let seen = traffic(&service, 20_000, latency).await;
        // One in twenty, of which one in four.
        assert!(share(&seen, 0) < most && share(&seen, 0) > 0.01, "{policy:?}: {seen:?}");
    }
}

#[test]
fn the_one_with_fewer_calls_is_chosen() {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let bench = Bench::new(&LeastRequest, &[1.0, 1.0]);
    let calls: Vec<Picked> = (0..3).map(|_| bench.begin(0)).collect();
    let seen = count(2, 10_000, || bench.pick(&mut PickContext::new().seeded(&mut rng)).unwrap());
    // It is picked if drawn three times in a row, or taken as it is.
    assert!(seen[0] < 1700 && seen[0] > 1000, "{seen:?}");
    drop(calls);
    let seen = count(2, 10_000, || bench.pick(&mut PickContext::new().seeded(&mut rng)).unwrap());
    assert!(seen[0].abs_diff(5000) < 250, "{seen:?}");
}

#[test]
fn whoever_is_worst_keeps_a_floor() {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let n = 10;
    let bench = Bench::new(&LeastRequest, &[1.0; 10]);
    let _calls: Vec<Picked> = (0..100).map(|_| bench.begin(4)).collect();
    let seen = count(n, 200_000, || bench.pick(&mut PickContext::new().seeded(&mut rng)).unwrap());
    // A share of 1/(20 n), and of 1/1000 by being drawn three times.
    let expected = 200_000.0 * (0.005 + 0.95 * 0.001);
    assert!((seen[4] as f64 - expected).abs() < 5.0 * expected.sqrt(), "{seen:?}");
}
