//! Life and death of services on the server: empty ones, created ones, protected ones, and what operators say about instances.

use std::time::Duration;

use nacos_client::{Select, ServiceSnapshot};
use nacos_proto::grpc::{Instance as WireInstance, QueryServiceResponse, ServiceQueryRequest};
use nacos_server_min::Settings;
use serde_json::Value;

use crate::support::client::{patient, ports, told};
use crate::support::consumer::{lists, marked, prompt, service, subscribed};
use crate::support::wait::{eventually, in_time, wait_until};
use crate::support::witness::{Witness, foreign};
use crate::support::world::{Registry, World, in_our_worlds, unique};

in_our_worlds!(
    l11_a_service_that_is_only_subscribed_to_outlives_every_cleaning,
    l11_a_service_that_became_empty_is_forgotten_and_its_subscriptions_are_not,
    l11_services_that_came_and_went_leave_nothing_in_the_list,
    l11_a_service_created_on_its_own_stays_until_it_is_deleted,
    f11_thresholds_protect_every_list_in_the_same_way_and_can_be_off,
    f11_a_server_can_be_told_to_protect_nothing,
    f11_a_threshold_comes_and_goes_with_a_push,
    what_an_operator_says_outlives_a_registration_but_not_for_long,
    b15_one_address_in_two_services_and_clusters_is_several_instances,
);

/// Cleans all the time what has just become empty.
fn tidy() -> Settings {
    let mut settings = Settings::default();
    settings.empty_service_after = Duration::ZERO;
    settings.clean_interval = Duration::from_millis(20);
    settings
}

/// Names of the default group's services, as an HTTP client gets them.
async fn listed(registry: &Registry) -> Vec<String> {
    let page = registry.v1("GET", "/service/list?pageNo=1&pageSize=100000").await;
    let names = page["doms"].as_array().expect("a list of names").iter();
    names.map(|name| name.as_str().expect("a name").to_owned()).collect()
}

async fn is_no_longer_listed(registry: &Registry, name: &str) {
    let gone = async || (!listed(registry).await.iter().any(|listed| listed == name)).then_some(());
    eventually("the empty service is forgotten", gone).await;
}

/// Waits until the cleaning has run since: what becomes empty now is forgotten by the next one.
async fn cleaned(registry: &Registry, witness: &Witness) {
    let passing = unique("passing");
    witness.register(&passing, foreign(1)).await;
    witness.deregister(&passing, foreign(1)).await;
    is_no_longer_listed(registry, &passing).await;
}

async fn l11_a_service_that_is_only_subscribed_to_outlives_every_cleaning(world: World) {
    let registry = world.registry_with(tidy()).await;
    let (consumer, witness, name) = (prompt(&registry), registry.witness().await, unique("orders"));
    let mut changes = subscribed(&service(&consumer, &name)).await;
    for _ in 0..3 {
        cleaned(&registry, &witness).await;
    }
    assert!(!listed(&registry).await.contains(&name), "subscribing creates no service");
    witness.register(&name, foreign(1)).await;
    told(&mut changes, "the first instance is pushed", |list| ports(list) == [1]).await;
}

async fn l11_a_service_that_became_empty_is_forgotten_and_its_subscriptions_are_not(world: World) {
    let registry = world.registry_with(tidy()).await;
    let (consumer, witness, name) = (prompt(&registry), registry.witness().await, unique("orders"));
    let mut changes = subscribed(&service(&consumer, &name)).await;
    for port in 1..=3 {
        witness.register(&name, foreign(port)).await;
        told(&mut changes, "it is pushed", |list| ports(list) == [u16::try_from(port).unwrap()]).await;
        cleaned(&registry, &witness).await;
        assert!(listed(&registry).await.contains(&name), "it is not empty");
        witness.deregister(&name, foreign(port)).await;
        told(&mut changes, "its end is pushed", ServiceSnapshot::is_empty).await;
        is_no_longer_listed(&registry, &name).await;
    }
    let unsubscribed = changes;
    drop(unsubscribed);
}

async fn l11_services_that_came_and_went_leave_nothing_in_the_list(world: World) {
    // A night may take a hundred thousand on one kind of server.
    let nightly = std::env::var("NACOS_TEST_SERVICES").ok().and_then(|text| text.parse().ok());
    let services: usize = nightly.filter(|_| matches!(world, World::Standard)).unwrap_or(2_000);
    let registry = world.registry_with(tidy()).await;
    let (staying, leaving) = (registry.witness().await, registry.witness().await);
    staying.register("staying", foreign(1)).await;
    for number in 0..services {
        leaving.register(&format!("s-{number}"), foreign(1)).await;
        if number.is_multiple_of(2) {
            leaving.deregister(&format!("s-{number}"), foreign(1)).await;
        }
    }
    drop(leaving);
    eventually("one service is left", async || (listed(&registry).await == ["staying"]).then_some(())).await;
    let metrics = registry.v1("GET", "/operator/metrics?onlyStatus=false").await;
    assert_eq!((&metrics["serviceCount"], &metrics["instanceCount"]), (&1.into(), &1.into()), "{metrics}");
}

async fn l11_a_service_created_on_its_own_stays_until_it_is_deleted(world: World) {
    let registry = world.registry_with(tidy()).await;
    let (witness, name) = (registry.witness().await, unique("orders"));
    let (status, made) =
        registry.http("POST", &format!("/nacos/v2/ns/service?serviceName={name}&ephemeral=true")).await;
    assert_eq!(status, 200, "{made}");
    cleaned(&registry, &witness).await;
    assert!(listed(&registry).await.contains(&name), "empty from the beginning");
    witness.register(&name, foreign(1)).await;
    witness.deregister(&name, foreign(1)).await;
    cleaned(&registry, &witness).await;
    assert!(listed(&registry).await.contains(&name), "empty again");
    registry.v1("DELETE", &format!("/service?serviceName={name}")).await;
    assert!(!listed(&registry).await.contains(&name));
}

/// So many healthy ones of ten; the last two are a disabled one and one without weight, which are healthy if all are.
fn ten(healthy: usize) -> Vec<WireInstance> {
    let instance = |number: usize| WireInstance {
        healthy: number < healthy,
        enabled: number != 9,
        weight: if number == 8 { 0.0 } else { 1.0 },
        cluster_name: Some(if number.is_multiple_of(2) { "even" } else { "odd" }.to_owned()),
        ..foreign(i32::try_from(number).expect("a digit") + 1)
    };
    (0..10).map(instance).collect()
}

/// Ports with their health, and whether the list is protected.
type Shown = (Vec<(i64, bool)>, bool);

/// What a list must show: the enabled instances of the clusters; all healthy when too few are.
fn expected(instances: &[WireInstance], cluster: &str, threshold: Option<f64>, healthy_only: bool) -> Shown {
    let matching =
        instances.iter().filter(|i| i.enabled && (cluster.is_empty() || i.cluster_name.as_deref() == Some(cluster)));
    let matching: Vec<_> = matching.filter(|i| i.healthy || !healthy_only).collect();
    let healthy = matching.iter().filter(|i| i.healthy).count();
    #[expect(clippy::cast_precision_loss, reason = "ten at most")]
    let reached = !matching.is_empty() && threshold.is_some_and(|t| healthy as f64 / matching.len() as f64 <= t);
    (matching.iter().map(|i| (i64::from(i.port), i.healthy || reached)).collect(), reached)
}

async fn by_http(registry: &Registry, name: &str, cluster: &str, healthy_only: bool) -> Shown {
    let list = registry
        .v1("GET", &format!("/instance/list?serviceName={name}&clusters={cluster}&healthyOnly={healthy_only}"))
        .await;
    let hosts = list["hosts"].as_array().expect("a list").iter();
    let mut hosts: Vec<_> = hosts
        .map(|host| (host["port"].as_i64().expect("a port"), host["healthy"].as_bool().expect("a flag")))
        .collect();
    hosts.sort_unstable();
    (hosts, list["reachProtectionThreshold"] == Value::Bool(true))
}

async fn by_query(witness: &Witness, name: &str, cluster: &str, healthy_only: bool) -> Shown {
    let query = ServiceQueryRequest {
        namespace: Some("public".to_owned()),
        service_name: Some(name.to_owned()),
        group_name: Some("DEFAULT_GROUP".to_owned()),
        cluster: Some(cluster.to_owned()),
        healthy_only,
        ..ServiceQueryRequest::default()
    };
    let answer: QueryServiceResponse = witness.call(&query).await.expect("the query is answered");
    let info = answer.service_info.expect("a list");
    let mut hosts: Vec<_> = info.hosts.iter().flatten().map(|i| (i64::from(i.port), i.healthy)).collect();
    hosts.sort_unstable();
    (hosts, info.reach_protection_threshold)
}

/// As a subscriber got it.
fn by_push(list: &ServiceSnapshot) -> Vec<(i64, bool)> {
    let mut hosts: Vec<_> = list.instances().iter().map(|i| (i64::from(i.port), i.healthy)).collect();
    hosts.sort_unstable();
    hosts
}

/// How an operator switches the protection of a service off, or sets it.
async fn protect(registry: &Registry, name: &str, threshold: Option<f64>) {
    let how = match threshold {
        None => "protectThreshold=0.5&metadata=protect%3Doff".to_owned(),
        Some(threshold) => format!("protectThreshold={threshold}"),
    };
    registry.v1("PUT", &format!("/service?serviceName={name}&{how}")).await;
}

async fn f11_thresholds_protect_every_list_in_the_same_way_and_can_be_off(world: World) {
    let registry = world.registry().await;
    let (witness, consumer) = (registry.witness().await, prompt(&registry));
    for healthy in [0, 1, 5, 6, 10] {
        for threshold in [None, Some(0.0), Some(0.5), Some(1.0)] {
            let (name, instances) = (unique("orders"), ten(healthy));
            let what = format!("{healthy} of 10 with {threshold:?}");
            witness.publish(&name, instances.clone()).await;
            protect(&registry, &name, threshold).await;
            for cluster in ["", "even", "odd"] {
                for healthy_only in [false, true] {
                    let expected = expected(&instances, cluster, threshold, healthy_only);
                    let same =
                        async || (by_http(&registry, &name, cluster, healthy_only).await == expected).then_some(());
                    eventually(&format!("by HTTP, {cluster:?}, {healthy_only}: {what}"), same).await;
                    assert_eq!(by_query(&witness, &name, cluster, healthy_only).await, expected, "{what}");
                }
            }
            let (shown, _) = expected(&instances, "", threshold, false);
            let mut changes = service(&consumer, &name).subscribe(Select::all());
            let list = told(&mut changes, &what, |list| by_push(list) == shown).await;
            // The balancer takes what is shown as healthy and has a weight.
            let usable = shown.iter().any(|(port, healthy)| *healthy && *port != 9);
            assert_eq!(list.pick().is_ok(), usable, "{what}");
            // How they really are can be read whatever protects them.
            for instance in [&instances[0], &instances[5]] {
                let cluster = instance.cluster_name.as_deref().unwrap_or_default();
                let one =
                    format!("/instance?serviceName={name}&ip=10.9.8.7&port={}&clusterName={cluster}", instance.port);
                assert_eq!(registry.v1("GET", &one).await["healthy"], instance.healthy, "{what}");
            }
        }
    }
}

async fn f11_a_server_can_be_told_to_protect_nothing(world: World) {
    let mut settings = Settings::default();
    settings.protection = false;
    let registry = world.registry_with(settings).await;
    let (witness, name, sick) = (registry.witness().await, unique("orders"), ten(0));
    witness.publish(&name, sick.clone()).await;
    protect(&registry, &name, Some(1.0)).await;
    let shown = expected(&sick, "", None, false);
    let same = async || (by_http(&registry, &name, "", false).await == shown).then_some(());
    eventually("all are shown as they are", same).await;
    assert_eq!(by_query(&witness, &name, "", false).await, shown);
    assert_eq!(by_query(&witness, &name, "", true).await, (vec![], false));
}

async fn f11_a_threshold_comes_and_goes_with_a_push(world: World) {
    let registry = world.registry().await;
    let (witness, consumer, name) = (registry.witness().await, prompt(&registry), unique("orders"));
    witness.publish(&name, ten(1)).await;
    let mut changes = subscribed(&service(&consumer, &name)).await;
    for threshold in [Some(0.5), None, Some(0.9), Some(0.0)] {
        protect(&registry, &name, threshold).await;
        // A recorded server tells subscribers of a threshold with the next change only.
        if !matches!(world, World::Standard) {
            witness.publish(&name, ten(2)).await;
            witness.publish(&name, ten(1)).await;
        }
        let (shown, _) = expected(&ten(1), "", threshold, false);
        told(&mut changes, &format!("{threshold:?} is pushed"), |list| by_push(list) == shown).await;
    }
}

async fn what_an_operator_says_outlives_a_registration_but_not_for_long(world: World) {
    let mut settings = Settings::default();
    settings.instance_metadata_after = Duration::from_secs(3);
    let registry = world.registry_with(settings).await;
    let (witness, provider, consumer, name) =
        (registry.witness().await, patient(&registry), prompt(&registry), unique("orders"));
    // Somebody stays, so that what is waited for is the end of one instance and not of the service.
    witness.register(&name, foreign(1)).await;
    let register = || {
        let one = nacos_client::Instance::new(("10.0.0.1", 80)).metadata("version", "1").metadata("zone", "a");
        service(&provider, &name).register(one).expect("it is valid")
    };
    let registration = register();
    in_time("the registration", registration.confirmed()).await.expect("it is acknowledged");
    let mut changes = subscribed(&service(&consumer, &name)).await;
    let shown = |list: &ServiceSnapshot, weight: f64, version: &str| {
        let one = list.instances().iter().find(|i| i.port == 80);
        one.is_some_and(|i| {
            i.weight == weight
                && i.metadata.get("version").is_some_and(|v| v == version)
                && i.metadata.contains_key("zone")
        })
    };
    let one = format!("/instance?serviceName={name}&ip=10.0.0.1&port=80");
    registry.v1("PUT", &format!("{one}&weight=7&metadata=version%3D2")).await;
    told(&mut changes, "the operator's word is pushed", |list| shown(list, 7.0, "2")).await;
    registration.update(|i| i.weight(3.0).metadata("later", "yes")).expect("it is valid");
    told(&mut changes, "registering again does not change it", |list| {
        shown(list, 7.0, "2") && list.instances().iter().any(|i| i.metadata.contains_key("later"))
    })
    .await;
    registry.v1("PUT", &format!("{one}&weight=7&enabled=false")).await;
    told(&mut changes, "a disabled instance is not shown", |list| ports(list) == [1]).await;
    let forgotten = registry.server().counters().overrides_forgotten;
    in_time("the withdrawal", registration.withdraw()).await.expect("it is acknowledged");
    // Back at once, it is still the operator's.
    let registration = register();
    in_time("the registration", registration.confirmed()).await.expect("it is acknowledged");
    registry.v1("PATCH", &format!("{one}&enabled=true")).await;
    told(&mut changes, "the weight is still the operator's", |list| {
        list.instances().iter().any(|i| i.port == 80 && i.weight == 7.0)
    })
    .await;
    in_time("the withdrawal", registration.withdraw()).await.expect("it is acknowledged");
    wait_until("it has been gone for long", || registry.server().counters().overrides_forgotten > forgotten).await;
    let registration = register();
    in_time("the registration", registration.confirmed()).await.expect("it is acknowledged");
    told(&mut changes, "what is new is as its provider says", |list| shown(list, 1.0, "1")).await;
}

async fn b15_one_address_in_two_services_and_clusters_is_several_instances(world: World) {
    let registry = world.registry().await;
    let (a, b, consumer) = (registry.witness().await, registry.witness().await, prompt(&registry));
    let (orders, stock) = (unique("orders"), unique("stock"));
    let of = |cluster: &str, mark: &str| WireInstance { cluster_name: Some(cluster.to_owned()), ..marked(80, mark) };
    let seen = [service(&consumer, &orders), service(&consumer, &stock)];
    let mut changes = [subscribed(&seen[0]).await, subscribed(&seen[1]).await];
    let marks = |list: &ServiceSnapshot| {
        let mut marks: Vec<(String, String)> =
            list.instances().iter().map(|i| (i.cluster.clone(), i.metadata["mark"].clone())).collect();
        marks.sort();
        marks.into_iter().map(|(cluster, mark)| format!("{cluster}={mark}")).collect::<Vec<_>>().join(" ")
    };
    // Two clusters of one service, and another service: three instances of one address.
    a.register(&orders, of("east", "1")).await;
    b.register(&orders, of("west", "2")).await;
    b.register(&stock, of("east", "3")).await;
    told(&mut changes[0], "both clusters are shown", |list| marks(list) == "east=1 west=2").await;
    told(&mut changes[1], "the other service is shown", |list| marks(list) == "east=3").await;
    // What an operator says of one is said of no other.
    let east = format!("/instance?serviceName={orders}&ip=10.9.8.7&port=80&clusterName=east&metadata=mark%3D4");
    registry.v1("PUT", &east).await;
    told(&mut changes[0], "only one is changed", |list| marks(list) == "east=4 west=2").await;
    // It leaves one service and joins another one at once, as a container does that got another's address.
    a.deregister(&orders, of("east", "1")).await;
    a.register(&stock, of("west", "5")).await;
    told(&mut changes[0], "one cluster is left", |list| marks(list) == "west=2").await;
    told(&mut changes[1], "the new one has nothing of the old", |list| marks(list) == "east=3 west=5").await;
    drop(a);
    told(&mut changes[1], "only its own end with its connection", |list| marks(list) == "east=3").await;
    lists(&seen[0], &[80]).await;
}
