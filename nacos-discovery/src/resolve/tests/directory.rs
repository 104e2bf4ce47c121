//! Services that come and go.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use nacos_client::StartError;
use tokio::time::{advance, sleep};

use super::*;
use crate::{
    BalanceSettings, Change, Directory, Discovery, DiscoveryClient, DiscoveryConfig, DiscoveryError, InMemoryDiscovery,
};

fn directory(known: &InMemoryDiscovery, settings: ServiceSettings) -> Directory {
    Directory::new(Arc::new(known.clone()), BalanceSettings::new(settings))
}

fn known() -> InMemoryDiscovery {
    InMemoryDiscovery::new().with("orders", [instance(1), instance(2)])
}

#[tokio::test]
async fn a_service_is_watched_once_and_found_by_its_names() {
    let directory = directory(&known(), settings());
    assert!(directory.peek(&service()).is_none());
    let endpoints = directory.endpoints(&service()).unwrap();
    let another = directory.clone();
    for named in [directory.endpoints_named("", "orders"), another.endpoints_named("DEFAULT_GROUP", "orders")] {
        assert!(Arc::ptr_eq(&endpoints, &named.unwrap()));
    }
    assert!(!Arc::ptr_eq(&endpoints, &directory.endpoints_named("other", "orders").unwrap()));
    assert_eq!(directory.services(), [service(), ServiceKey::new("other", "orders")]);
    assert!(Arc::ptr_eq(&endpoints, &directory.peek(&service()).unwrap()));
}

#[test]
fn without_a_runtime_the_error_says_so() {
    let error = directory(&known(), settings()).endpoints(&service()).unwrap_err();
    assert!(matches!(error, DiscoveryError::Start(StartError::NoRuntime)), "{error:?}");
}

/// Lets every task do what it can.
async fn settle() {
    sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn a_service_that_nobody_asks_for_is_let_go_and_one_that_is_used_or_held_stays() {
    let known = known();
    let watches = Arc::new(known.clone());
    let settings = settings().with_idle_time(Duration::from_secs(40));
    let directory = Directory::new(watches, BalanceSettings::new(settings));
    let held = directory.endpoints_named("", "held").unwrap();
    drop(directory.endpoints(&service()).unwrap());
    for _ in 0..10 {
        drop(directory.endpoints_named("", "used").unwrap());
        assert!(directory.peek(&service()).is_some(), "not yet");
        sleep(Duration::from_secs(4)).await;
    }
    for _ in 0..10 {
        drop(directory.endpoints_named("", "used").unwrap());
        sleep(Duration::from_secs(4)).await;
    }
    let names =
        |directory: &Directory| directory.services().iter().map(|key| key.name().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&directory), ["held", "used"]);
    known.set("held", [instance(7)]);
    settle().await;
    assert_eq!(ports(&held.all()), [7], "it is kept up to date");

    // Asked for again, it is there again.
    let again = directory.endpoints(&service()).unwrap();
    again.ready().await.unwrap();
    assert_eq!(picked_ports(&again), [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_let_go_is_not_watched_any_longer() {
    let known = known();
    let directory = directory(&known, settings().with_idle_time(Duration::from_secs(4)));
    let endpoints = Arc::downgrade(&directory.endpoints(&service()).unwrap());
    settle().await;
    assert_eq!(known.watches(), 1);
    sleep(Duration::from_secs(6)).await;
    assert!(endpoints.upgrade().is_none() && directory.services().is_empty());
    settle().await;
    assert_eq!(known.watches(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_held_when_its_service_is_let_go_stays_up_to_date() {
    let known = known();
    let directory = directory(&known, settings());
    let endpoints = directory.endpoints(&service()).unwrap();
    settle().await;
    // As if another thread had found it in the moment in which the directory let it go.
    directory.shared().let_go(&endpoints);
    assert!(directory.services().is_empty());
    known.set("orders", [instance(3)]);
    settle().await;
    assert_eq!(picked_ports(&endpoints), [3]);
    drop(endpoints);
    settle().await;
    assert_eq!(known.watches(), 0);
}

#[tokio::test(start_paused = true)]
async fn with_an_idle_time_of_zero_a_service_stays_for_ever() {
    let known = known();
    let directory = directory(&known, settings().with_idle_time(Duration::ZERO));
    drop(directory.endpoints(&service()).unwrap());
    sleep(Duration::from_secs(100_000)).await;
    assert_eq!(directory.services(), [service()]);
    drop(directory);
    settle().await;
    assert_eq!(known.watches(), 0, "the directory's end is the end of the watches");
}

#[tokio::test(start_paused = true)]
async fn b05_after_an_idle_hour_in_which_all_were_replaced_the_first_request_goes_to_a_new_one() {
    let known = known();
    let directory = directory(&known, settings().with_idle_time(Duration::ZERO));
    drop(directory.endpoints(&service()).unwrap());
    settle().await;
    for minute in 0..60 {
        known.set("orders", [instance(100 + minute), instance(200 + minute)]);
        advance(Duration::from_secs(60)).await;
        settle().await;
    }
    let endpoints = directory.endpoints(&service()).unwrap();
    let first = endpoints.pick(&mut PickContext::new()).unwrap();
    assert!([159, 259].contains(&first.instance().port()), "{}", first.instance());
    assert_eq!(ports(&endpoints.all()), [159, 259]);
}

#[tokio::test]
async fn discover_tells_what_is_preferred_and_every_change_of_it() {
    let of = |cluster: &'static str| move |port| instance(port).cluster(cluster);
    let known = InMemoryDiscovery::new().with("orders", (1..=2).map(of("A")).chain([of("B")(3)]));
    let directory = directory(&known, settings().with_own_cluster("A"));
    let mut changes = directory.discover(&service()).unwrap();
    let mut next = async || match changes.next().await {
        Some(Change::Insert(key, endpoint)) => {
            assert_eq!(key, endpoint.instance().key());
            Some((endpoint.instance().port(), Some(endpoint.instance().weight())))
        }
        Some(Change::Remove(key)) => Some((key.port, None)),
        None => None,
    };
    assert_eq!((next().await, next().await), (Some((1, Some(1.0))), Some((2, Some(1.0)))));
    known.set("orders", [of("A")(1).weight(2.0), of("B")(3)]);
    assert_eq!((next().await, next().await), (Some((2, None)), Some((1, Some(2.0)))));
    known.set("orders", [of("B")(3)]);
    assert_eq!((next().await, next().await), (Some((1, None)), Some((3, Some(1.0)))));
    known.set("orders", [of("B")(3)]);
    drop(directory);
    drop(known);
    assert_eq!((next().await, next().await), (Some((3, None)), None), "the source has ended");
}

#[tokio::test]
async fn any_discovery_client_is_a_source() {
    let client: Arc<dyn DiscoveryClient> = Arc::new(known());
    let directory = Directory::new(Arc::new(client), BalanceSettings::new(settings()));
    let endpoints = directory.endpoints(&service()).unwrap();
    endpoints.ready().await.unwrap();
    assert_eq!(picked_ports(&endpoints), [1, 2]);
}

#[tokio::test]
async fn the_own_cluster_is_that_of_the_application_unless_the_settings_say_otherwise() {
    let of = |settings: BalanceSettings| {
        let config = DiscoveryConfig::builder().cluster("shanghai").build().unwrap();
        let directory = Discovery::new(config).unwrap().directory_with(settings);
        let own = |name: &str| {
            let settings = directory.settings().service(&ServiceKey::new("", name));
            settings.selection().own_cluster().map(str::to_owned)
        };
        (own("orders"), own("special"))
    };
    let special =
        |change: fn(ServiceSettings) -> ServiceSettings| BalanceSettings::default().with_service("special", change);
    let shanghai = || Some("shanghai".to_owned());
    assert_eq!(of(BalanceSettings::default()), (shanghai(), shanghai()));
    assert_eq!(of(special(ServiceSettings::without_own_cluster)), (shanghai(), None));
    assert_eq!(of(special(|settings| settings.with_own_cluster("x"))), (shanghai(), Some("x".to_owned())));
    let bare = BalanceSettings::default().service(&service());
    assert_eq!(bare.selection().own_cluster(), None);
}

#[tokio::test]
async fn discovery_that_is_disabled_knows_nobody() {
    let config = DiscoveryConfig::builder().property("spring.cloud.nacos.discovery.enabled", "false").build().unwrap();
    let discovery = Discovery::new(config).unwrap();
    let endpoints = discovery.directory().endpoints(&service()).unwrap();
    endpoints.ready().await.unwrap();
    assert_eq!(reason(&endpoints), NoInstanceReason::NoneRegistered);
    assert!(endpoints.ready().now_or_never().is_some());
}
