//! What operators say about services and instances, and how long it counts; pure state, seconds given by hand.

use super::details::ServiceMetadata;
use super::instance::{Host, Instance, InstanceId};
use super::overrides::Override;
use super::store::StoreStats;
use super::*;

const KEY: KeyRef<'_> = KeyRef { namespace: "public", group: "G", name: "s" };
const AFTER: u32 = 60;

fn registry(protection: bool) -> Registry {
    Registry::new(RegistrySettings { protection, ..RegistrySettings::unlimited() })
}

fn instance(last: usize, cluster: &str, healthy: bool) -> Instance {
    Instance {
        host: Host::new(Some(&format!("10.0.0.{last}"))),
        cluster: cluster.into(),
        weight: 1.0,
        id: InstanceId::Derived,
        metadata: Box::default(),
        port: 80,
        healthy,
        enabled: true,
    }
}

fn address(last: usize) -> Host {
    Host::new(Some(&format!("10.0.0.{last}")))
}

fn metadata(threshold: f32) -> ServiceMetadata {
    ServiceMetadata { threshold, ..ServiceMetadata::default() }
}

/// Healthy and all hosts of a list, and whether it says that the threshold is reached.
fn shown(registry: &Registry, clusters: Option<&str>, healthy_only: bool) -> (usize, usize, bool) {
    let service = registry.find(KEY).expect("a service");
    let view = registry.view(&service, 1_000);
    let (group, name, form, last_ref_time) = ("G", "s", NameForm::Bare, 1);
    let list = ListJson { group, name, form, view: &view, clusters, healthy_only, last_ref_time, omit_missing: false };
    let list: serde_json::Value = serde_json::from_slice(&list.encode()).expect("JSON");
    let hosts = list["hosts"].as_array().expect("a list");
    let healthy = hosts.iter().filter(|host| host["healthy"] == true).count();
    (healthy, hosts.len(), list["reachProtectionThreshold"] == true)
}

/// Ten instances in two clusters, so many of them healthy; one has weight 0. An eleventh is disabled and counts nowhere.
fn ten(registry: &Registry, healthy: usize) {
    for last in 0..10 {
        let mut one = instance(last, if last % 2 == 0 { "even" } else { "odd" }, last < healthy);
        one.weight = if last == 9 { 0.0 } else { 1.0 };
        registry.publish_internal(KEY, Kind::Persistent, one).expect("room");
    }
    let disabled = Instance { enabled: false, ..instance(10, "even", true) };
    registry.publish_internal(KEY, Kind::Persistent, disabled).expect("room");
}

#[test]
fn a_list_is_protected_at_or_below_the_threshold() {
    for healthy in [0, 1, 5, 6, 10] {
        for threshold in [None, Some(-1.0_f32), Some(0.0), Some(0.5), Some(0.7), Some(1.0)] {
            let registry = registry(true);
            ten(&registry, healthy);
            if let Some(threshold) = threshold {
                registry.set_metadata(KEY, metadata(threshold)).expect("a service");
            }
            let at = threshold.map(|threshold| threshold.max(0.0));
            let tenths = |n: usize| [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0_f32][n];
            let reached = at.is_some_and(|at| tenths(healthy) <= at);
            let expected = (if reached { 10 } else { healthy }, 10, reached);
            assert_eq!(shown(&registry, None, false), expected, "{healthy} of 10, {threshold:?}");
            let even = healthy.div_ceil(2);
            let reached = at.is_some_and(|at| tenths(2 * even) <= at);
            assert_eq!(shown(&registry, Some("even"), false), (if reached { 5 } else { even }, 5, reached));
            let reached = healthy > 0 && at.is_some_and(|at| at >= 1.0);
            assert_eq!(shown(&registry, None, true), (healthy, healthy, reached), "unhealthy ones never come back");
            let real = registry.find(KEY).map(|service| registry.view(&service, 1_000)).expect("a service");
            let really = real.rows().iter().filter(|one| one.healthy && one.enabled).count();
            assert_eq!(really, healthy, "what is true stays readable");
            registry.set_metadata(KEY, metadata(1.0)).expect("a service");
            assert_eq!(shown(&registry, None, false), (10, 10, true), "it can be changed");
        }
    }
}

#[test]
fn protection_can_be_off_for_a_service_and_for_a_server() {
    let service = registry(true);
    ten(&service, 0);
    let entries = [("protect".to_owned(), "off".to_owned())].into_iter().collect();
    service.set_metadata(KEY, ServiceMetadata { entries, ..metadata(1.0) }).expect("a service");
    let server = registry(false);
    ten(&server, 0);
    server.set_metadata(KEY, metadata(1.0)).expect("a service");
    for registry in [service, server] {
        assert_eq!(shown(&registry, None, false), (0, 10, false));
    }
    let empty = registry(true);
    empty.create(KEY, Kind::Persistent, metadata(1.0)).expect("new");
    assert_eq!(shown(&empty, None, false), (0, 0, false), "nothing to protect");
}

#[test]
fn a_created_service_stays_and_a_registered_one_goes() {
    let registry = registry(true);
    let other = KeyRef { name: "other", ..KEY };
    registry.create(KEY, Kind::Ephemeral, metadata(0.5)).expect("new");
    assert_eq!(registry.create(KEY, Kind::Persistent, metadata(0.0)), Err(AdminError::Exists));
    registry.publish_internal(other, Kind::Ephemeral, instance(1, "c", true)).expect("room");
    registry.set_metadata(other, metadata(0.5)).expect("a service");
    assert_eq!(registry.create(other, Kind::Ephemeral, metadata(0.0)), Err(AdminError::Exists));
    assert_eq!(registry.delete(other), Err(AdminError::NotEmpty));
    assert!(registry.withdraw_internal(other, Kind::Ephemeral, Some("10.0.0.1"), 80, 100));
    assert_eq!(registry.sweep(159, AFTER), 0);
    assert_eq!(registry.sweep(160, AFTER), 1);
    assert!(registry.find(other).is_none());
    assert_eq!(registry.services(None, |_| true).len(), 1, "the created one is there for good");
    registry.publish_internal(other, Kind::Persistent, instance(1, "c", true)).expect("it may be of another kind now");
    let fresh = registry.find(other).and_then(|service| registry.describe(&service)).expect("a service");
    assert!(fresh.metadata.is_none(), "what was said of the one before went with it");
    assert_eq!(registry.delete(KEY), Ok(()));
    assert_eq!(registry.delete(KEY), Err(AdminError::NotFound));
    assert_eq!(registry.set_metadata(KEY, metadata(0.0)), Err(AdminError::NotFound));
    assert_eq!(registry.services(Some("public"), |_| true).len(), 1);
    registry.create(KEY, Kind::Persistent, metadata(0.0)).expect("it can be created again at once");
}

#[test]
fn a_deleted_service_keeps_its_subscribers() {
    let registry = registry(true);
    let client = registry.open_client("client", None);
    registry.subscribe(&client, KEY, None).expect("room");
    registry.create(KEY, Kind::Persistent, metadata(0.0)).expect("subscribing creates nothing");
    registry.delete(KEY).expect("it is empty");
    registry.sweep(1_000, AFTER);
    registry.publish_internal(KEY, Kind::Ephemeral, instance(1, "c", true)).expect("room");
    assert_eq!(registry.find(KEY).map(|service| service.subscribers().len()), Some(1));
    assert_eq!(registry.subscribed("public", |_| true).len(), 1);
    registry.close_client(&client, 1_000);
    assert_eq!(registry.subscribed("public", |_| true).len(), 0);
}

#[test]
fn nothing_is_left_of_services_that_came_and_went() {
    let registry = registry(true);
    for round in 0..10_000u32 {
        let name = format!("s{round}");
        let service = KeyRef { name: &name, ..KEY };
        registry.publish_internal(service, Kind::Ephemeral, instance(1, "c", true)).expect("room");
        let row = (&address(1), 80, "c");
        registry.set_override(service, row, |over| over.weight = Some(2.0)).expect("a service");
        registry.withdraw_internal(service, Kind::Ephemeral, Some("10.0.0.1"), 80, round / 1_000);
    }
    registry.sweep(1_000, AFTER);
    assert_eq!(registry.stats(), StoreStats::default());
    assert_eq!(registry.shards.iter().map(|shard| shard.read().expect("no panic").len()).sum::<usize>(), 0);
    assert!(registry.lock_overridden().is_empty() && registry.services(None, |_| true).is_empty());
}

#[test]
fn an_override_outlives_registrations_until_a_while_after_the_last() {
    let registry = registry(true);
    let register = || registry.publish_internal(KEY, Kind::Ephemeral, instance(1, "c", true)).expect("room");
    let deregister = |now| assert!(registry.withdraw_internal(KEY, Kind::Ephemeral, Some("10.0.0.1"), 80, now));
    let weight = || {
        let view = registry.find(KEY).map(|service| registry.view(&service, 1_000)).expect("a service");
        view.rows().first().map(|one| one.weight)
    };
    register();
    let disable = |over: &mut Override| (over.weight, over.enabled) = (Some(5.0), Some(false));
    registry.set_override(KEY, (&address(1), 80, "c"), disable).expect("a service");
    assert_eq!((weight(), shown(&registry, None, false)), (Some(5.0), (0, 0, false)));
    registry.set_override(KEY, (&address(1), 80, "c"), |over| over.enabled = Some(true)).expect("a service");
    assert_eq!((weight(), shown(&registry, None, false)), (Some(5.0), (1, 1, false)), "the rest stays");
    for (gone_at, back_after, expected) in [(100, 1, 5.0), (200, 30, 5.0), (300, 59, 5.0), (400, 61, 1.0)] {
        deregister(gone_at);
        registry.expire_overrides(gone_at, AFTER);
        registry.expire_overrides(gone_at + back_after, AFTER);
        register();
        registry.expire_overrides(gone_at + back_after, AFTER);
        assert_eq!(weight(), Some(expected), "back after {back_after} s");
    }
    assert!(registry.lock_overridden().is_empty());
    let elsewhere = KeyRef { name: "other", ..KEY };
    assert_eq!(registry.set_override(elsewhere, (&address(1), 80, "c"), |_| ()), Err(AdminError::NotFound));
}

#[test]
fn the_same_address_in_two_services_has_two_lives() {
    let registry = registry(true);
    let other = KeyRef { name: "other", ..KEY };
    for key in [KEY, other] {
        registry.publish_internal(key, Kind::Ephemeral, instance(1, "c", true)).expect("room");
    }
    registry.set_override(KEY, (&address(1), 80, "c"), |over| over.weight = Some(5.0)).expect("a service");
    assert!(registry.withdraw_internal(KEY, Kind::Ephemeral, Some("10.0.0.1"), 80, 1));
    let rows = |key| registry.find(key).map(|service| registry.view(&service, 1).rows().to_vec()).unwrap_or_default();
    assert_eq!((rows(KEY).len(), rows(other).len()), (0, 1));
    assert_eq!(rows(other).first().map(|one| one.weight), Some(1.0));
}

#[test]
fn health_is_said_of_an_instance_wherever_it_is_published() {
    let registry = registry(true);
    ten(&registry, 10);
    assert!(registry.set_health(KEY, (&address(4), 80, "even"), false));
    assert!(!registry.set_health(KEY, (&address(4), 80, "odd"), false), "another cluster is another instance");
    assert_eq!(shown(&registry, None, false), (9, 10, false));
    let before = registry.find(KEY).map(|service| registry.view(&service, 5_000).last_ref_time);
    assert!(registry.set_health(KEY, (&address(4), 80, "even"), false), "known, and no change");
    assert_eq!(registry.find(KEY).map(|service| registry.view(&service, 9_000).last_ref_time), before);
    assert!(registry.set_health(KEY, (&address(4), 80, "even"), true));
    assert_eq!(shown(&registry, None, false), (10, 10, false));
}

/// Overviews look into the services that others write at the same time.
#[test]
fn overviews_and_writes_do_not_wait_for_each_other_for_ever() {
    let registry = registry(true);
    let name = |n: usize| format!("s{}", n % 7);
    std::thread::scope(|threads| {
        for last in 0..2 {
            let registry = &registry;
            threads.spawn(move || {
                for n in 0..2_000 {
                    let (name, address) = (name(n), format!("10.0.0.{last}"));
                    let key = KeyRef { name: &name, ..KEY };
                    registry.publish_internal(key, Kind::Ephemeral, instance(last, "c", true)).expect("room");
                    registry.withdraw_internal(key, Kind::Ephemeral, Some(&address), 80, 0);
                    registry.sweep(0, 0);
                }
            });
        }
        for _ in 0..2_000 {
            assert!(registry.services(None, |service| service.instances() > 0).len() <= 7);
            assert!(registry.subscribed("public", |_| true).is_empty());
        }
    });
    registry.sweep(0, 0);
    assert!(registry.services(None, |_| true).is_empty());
}

#[test]
fn a_verdict_about_an_instance_that_was_replaced_meanwhile_is_ignored() {
    let registry = registry(false);
    let before = registry.persistent_changes();
    let client = registry.publish_internal(KEY, Kind::Persistent, instance(1, "c1", true)).expect("published");
    assert_ne!(registry.persistent_changes(), before);
    let all = registry.persistent();
    let [(known, service)] = all.as_slice() else { panic!("one instance, not {}", all.len()) };
    assert_eq!(known.number, client.number);
    let (observed, cluster) = registry.described_instance(&client, service).expect("it is there");
    assert_eq!(*cluster, ClusterMetadata::default());
    registry.publish_internal(KEY, Kind::Persistent, instance(1, "c1", true)).expect("published again");
    assert!(!registry.judge(&client, service, &observed, false));
    assert_eq!(shown(&registry, None, false), (1, 1, false));
    let (observed, _) = registry.described_instance(&client, service).expect("it is there");
    assert!(registry.judge(&client, service, &observed, false));
    assert!(!registry.judge(&client, service, &observed, true), "the verdict itself made it another one");
    assert_eq!(shown(&registry, None, false), (0, 1, false));
    assert!(registry.withdraw_internal(KEY, Kind::Persistent, Some("10.0.0.1"), 80, 1));
    assert!(registry.described_instance(&client, service).is_none());
    assert!(!registry.judge(&client, service, &observed, true));
}
