//! Slow start through a directory, whose task makes the weights anew while they rise.

use super::*;
use crate::settings::{BalanceSettings, SlowStart};
use crate::{Directory, EjectionState, InMemoryDiscovery};

struct Ramped {
    known: InMemoryDiscovery,
    service: Service,
    _directory: Directory,
}

impl Ramped {
    /// A client that begins while these are there.
    async fn begin(ports: impl IntoIterator<Item = u16>) -> Self {
        let known = InMemoryDiscovery::new();
        known.set("orders", instances(ports));
        let settings = ServiceSettings::default().with_slow_start(Some(SlowStart::new()));
        let directory = Directory::new(Arc::new(known.clone()), BalanceSettings::new(settings));
        let endpoints = directory.endpoints(&ServiceKey::new("", "orders")).unwrap();
        endpoints.ready().await.unwrap();
        let rng = fastrand::Rng::with_seed(5);
        Self { known, service: Service { endpoints, rng, revision: 0 }, _directory: directory }
    }

    /// The list changes, and the directory learns it.
    async fn list(&mut self, ports: impl IntoIterator<Item = u16>) {
        let ports: Vec<_> = ports.into_iter().collect();
        self.known.set("orders", instances(ports.iter().copied()));
        while self.service.endpoints.all().len() != ports.len() {
            pass(0.001).await;
        }
    }

    /// The share of one of them over so many seconds, of 2 000 picks per 0.1 s.
    async fn share(&mut self, port: u16, seconds: u32) -> f64 {
        let (mut its, mut all) = (0, 0);
        for _ in 0..10 * seconds {
            pass(0.1).await;
            let spread = self.service.spread(2_000);
            its += spread.get(&port).copied().unwrap_or_default();
            all += 2_000;
        }
        f64::from(its as u32) / f64::from(all)
    }
}

fn instances(ports: impl IntoIterator<Item = u16>) -> Vec<Instance> {
    ports.into_iter().map(|port| Instance::new(("127.0.0.1", port))).collect()
}

/// The mean share beside three others in these seconds of the ramp.
fn expected(from: u32, to: u32) -> f64 {
    let steps = 1_000;
    let share = |step: u32| {
        let age = f64::from(from) + f64::from(to - from) * f64::from(step) / f64::from(steps);
        let weight = (age / 30.0).clamp(0.1, 1.0);
        weight / (3.0 + weight)
    };
    (0..steps).map(share).sum::<f64>() / f64::from(steps)
}

#[tokio::test(start_paused = true)]
async fn b11_a_new_instance_follows_the_curve() {
    let mut ramped = Ramped::begin(1..=3).await;
    pass(10.0).await;
    ramped.list(1..=4).await;
    for from in (0..36).step_by(2) {
        let (share, expected) = (ramped.share(4, 2).await, expected(from, from + 2));
        assert!((share - expected).abs() < 0.02 * expected.max(0.25), "{share} and not {expected} from second {from}");
    }
}

#[tokio::test(start_paused = true)]
async fn b11_a_client_that_restarts_starts_none_of_the_known_slowly() {
    let mut ramped = Ramped::begin(1..=4).await;
    for port in 1..=4 {
        let share = ramped.share(port, 1).await;
        assert!((0.235..0.265).contains(&share), "{share} of {port}");
    }
}

#[tokio::test(start_paused = true)]
async fn b11_who_is_seen_again_within_a_minute_goes_on_where_it_was() {
    let mut ramped = Ramped::begin(1..=4).await;
    pass(10.0).await;
    ramped.list(1..=3).await;
    pass(50.0).await;
    ramped.list(1..=4).await;
    let share = ramped.share(4, 1).await;
    assert!((0.235..0.265).contains(&share), "{share}");
    ramped.list(1..=3).await;
    pass(70.0).await;
    ramped.list(1..=4).await;
    let share = ramped.share(4, 1).await;
    assert!((0.02..0.05).contains(&share), "a newcomer: {share}");
}

#[tokio::test(start_paused = true)]
async fn b11_the_age_begins_anew_after_an_ejection() {
    let mut ramped = Ramped::begin(1..=4).await;
    ramped.service.fail(4);
    pass(2.0).await;
    ramped.service.call(4, GOOD);
    assert_eq!(ramped.service.endpoint(4).ejection(), EjectionState::Healthy { failures: 0 });
    pass(0.001).await;
    let share = ramped.share(4, 2).await;
    assert!((0.02..0.05).contains(&share), "{share}");
    pass(30.0).await;
    let share = ramped.share(4, 2).await;
    assert!((0.235..0.265).contains(&share), "{share}");
}
