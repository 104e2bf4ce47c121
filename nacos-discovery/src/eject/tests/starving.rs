//! The measurements of what goes wrong with common balancers: whoever fails fast attracts the requests, and whoever is new
//! gets none.

use super::simulation::{Simulation, answers};
use super::*;
use crate::PeakEwma;

/// Three that answer in 10 ms, and one that fails after 1 ms.
fn black_hole(port: u16) -> (Duration, Outcome) {
    if port == 1 { (Duration::from_millis(1), BAD) } else { answers(10) }
}

#[tokio::test(start_paused = true)]
async fn sc17_who_fails_fast_gets_next_to_nothing() {
    for settings in [ServiceSettings::default(), ServiceSettings::default().with_policy(PeakEwma::default())] {
        let mut simulation = Simulation::new(Service::new(settings, 1..=4), |port, _| black_hole(port));
        let seen = simulation.run(5.0, 400.0).await;
        assert!(seen.share(1) < 0.01, "{seen:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn sc17_without_ejection_latencies_keep_requests_from_who_fails_fast() {
    let settings = ServiceSettings::default().with_ejection(None).with_policy(PeakEwma::default());
    let mut simulation = Simulation::new(Service::new(settings, 1..=4), |port, _| black_hole(port));
    let seen = simulation.run(5.0, 400.0).await;
    assert!(seen.share(1) < 0.1, "{seen:?}");
    let seen = simulation.run(120.0, 400.0).await;
    assert!(seen.share(1) < 0.1, "also later: {seen:?}");
}

#[tokio::test(start_paused = true)]
async fn sc17_who_joins_warm_peers_has_its_share_within_five_seconds() {
    let settings = ServiceSettings::default().with_policy(PeakEwma::default());
    let mut simulation = Simulation::new(Service::new(settings, 1..=3), |_, _| answers(5));
    simulation.run(30.0, 400.0).await;
    simulation.service.list(1..=4);
    simulation.run(4.0, 400.0).await;
    let seen = simulation.run(5.0, 400.0).await;
    assert!((0.2..0.32).contains(&seen.share(4)), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn sc17_who_was_slow_once_is_tried_again() {
    let settings = ServiceSettings::default().with_policy(PeakEwma::default());
    let slow = |port, at: Duration| if port == 1 && at < Duration::from_secs(10) { answers(500) } else { answers(5) };
    let mut simulation = Simulation::new(Service::new(settings, 1..=4), slow);
    let seen = simulation.run(10.0, 400.0).await;
    assert!(seen.share(1) < 0.1, "{seen:?}");
    simulation.run(60.0, 400.0).await;
    let seen = simulation.run(10.0, 400.0).await;
    assert!(seen.share(1) > 0.15, "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn sc17_who_is_restored_has_its_share_soon() {
    let settings = ServiceSettings::default().with_policy(PeakEwma::default());
    let down = |port, at: Duration| if port == 1 && at < Duration::from_secs(10) { black_hole(1) } else { answers(10) };
    let mut simulation = Simulation::new(Service::new(settings, 1..=4), down);
    simulation.run(25.0, 400.0).await;
    let seen = simulation.run(5.0, 400.0).await;
    assert!((0.2..0.3).contains(&seen.share(1)), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn b07_a_refusing_and_a_silent_instance_of_three_cost_next_to_no_requests_where_connects_are_repeated() {
    for settings in [ServiceSettings::default(), ServiceSettings::default().with_policy(PeakEwma::default())] {
        let mut simulation = Simulation::new(Service::new(settings, 1..=3), |port, _| match port {
            1 => (Duration::from_micros(200), BAD),
            // Its connects time out.
            2 => (Duration::from_secs(1), BAD),
            _ => answers(5),
        });
        simulation.attempts = 2;
        let seen = simulation.run(10.0, 1_000.0).await;
        simulation.drain().await;
        assert!(seen.errors < 10, "{seen:?}");
        assert!(simulation.service.endpoint(2).cost() > 10.0 * simulation.service.endpoint(3).cost());
        assert!((1..=3).all(|port| simulation.service.endpoint(port).in_flight() == 0));
    }
}
