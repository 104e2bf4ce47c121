//! New instances that are started slowly.

use std::time::Duration;

use tokio::time::advance;

use super::*;
use crate::resolve::tables::Tables;
use crate::{Directory, InMemoryDiscovery, SlowStart};

/// The weight of an instance in the table that picks use.
fn weight(endpoints: &Endpoints, port: u16) -> f64 {
    let current = endpoints.current().unwrap();
    let Tables::Plain(tiers) = &current.tables else { panic!("there are no rules") };
    let tier = tiers.last().unwrap();
    tier.members().iter().find(|member| member.endpoint().instance().port() == port).unwrap().weight()
}

#[tokio::test(start_paused = true)]
async fn b11_the_share_of_a_new_instance_rises_by_time_alone() {
    let known = InMemoryDiscovery::new().with("orders", [instance(1), instance(2), instance(3)]);
    let settings = settings().with_slow_start(Some(SlowStart::new()));
    let directory = Directory::new(Arc::new(known.clone()), crate::BalanceSettings::new(settings));
    let endpoints = directory.endpoints(&service()).unwrap();
    endpoints.ready().await.unwrap();
    assert_eq!([1, 2, 3].map(|port| weight(&endpoints, port)), [1.0; 3], "nobody is new in the first list");

    known.set("orders", (1..=4).map(instance));
    advance(Duration::from_millis(50)).await;
    let mut published = endpoints.published();
    for second in 0..40u32 {
        let expected = (f64::from(second) / 30.0).clamp(0.1, 1.0);
        let now = weight(&endpoints, 4);
        assert!((now - expected).abs() <= 0.02, "{now} instead of {expected} after {second} s");
        assert_eq!(weight(&endpoints, 1), 1.0);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    published.borrow_and_update();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(!published.has_changed().unwrap(), "once it has risen, nothing is made anew");
}

#[tokio::test(start_paused = true)]
async fn b11_a_window_without_end_is_a_long_one() {
    let settings = settings().with_slow_start(Some(SlowStart::new().with_window(Duration::MAX)));
    let endpoints = endpoints(settings);
    endpoints.apply(&list(1, [instance(1)]));
    advance(Duration::from_secs(1)).await;
    endpoints.apply(&list(2, [instance(1), instance(2)]));
    assert_eq!([1, 2].map(|port| weight(&endpoints, port)), [1.0, 0.1]);
    advance(Duration::from_secs(86_400)).await;
    endpoints.refresh(tokio::time::Instant::now());
    assert_eq!([1, 2].map(|port| weight(&endpoints, port)), [1.0, 1.0]);
}
