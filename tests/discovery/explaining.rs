//! What an explanation tells: who gets requests, why the others do not, and what may be meant where nobody does.

use std::net::SocketAddr;

use axum::Router;
use axum::http::StatusCode;
use nacos_client::{Instance, Registration, ServiceKey};
use nacos_discovery::{
    AddressFamily, BalanceSettings, Directory, Discovery, DiscoveryConfig, EjectionReport, Explanation, Filter,
    NearMiss, OnEmpty, Outcome, PickContext, ServiceInstance, ServiceSettings, Standing, TransportFailure,
};
use nacos_server_min::Server;
use nacos_tests::wait::{eventually, in_time};

use crate::support::*;

/// Registers an instance and waits until it is.
async fn provide(registry: &Server, service: (&str, &str), instance: Instance) -> Registration {
    let provider = provider(registry);
    let registration = provider.nacos().service(service).expect("a name").register(instance).expect("a registration");
    in_time("the registration", registration.confirmed()).await.expect("it is confirmed");
    registration
}

fn at(last: u8) -> Instance {
    Instance::new((format!("10.0.0.{last}"), 80))
}

fn consumer(registry: &Server) -> Discovery {
    application(DiscoveryConfig::builder().server_addr(&registry.server_addr()))
}

fn orders() -> ServiceKey {
    ServiceKey::new("", SERVICE)
}

/// What a consumer with these settings is told.
async fn explained(registry: &Server, settings: ServiceSettings) -> Explanation {
    let consumer = consumer(registry);
    let directory = consumer.directory_with(BalanceSettings::new(settings));
    directory.explain_by_asking(consumer.nacos(), &orders()).await
}

fn addresses(of: &[&str]) -> Vec<String> {
    of.iter().map(|address| (*address).to_owned()).collect()
}

#[tokio::test]
async fn where_requests_go_each_instance_has_its_share() {
    let registry = registry().await;
    let _all = (
        provide(&registry, ("", SERVICE), at(1).weight(3.0).metadata("version", "v2")).await,
        provide(&registry, ("", SERVICE), at(2)).await,
        provide(&registry, ("", SERVICE), at(3).weight(0.0)).await,
        provide(&registry, ("", SERVICE), at(4).cluster("c2")).await,
    );
    let consumer = consumer(&registry);
    let explanation = consumer.explain(&orders()).await;
    assert!(explanation.takes_requests() && explanation.near_misses.is_empty(), "{explanation}");
    assert_eq!(explanation.namespace.as_deref(), Some("public"));
    let told: Vec<(&str, Standing, f64)> = explanation
        .instances
        .iter()
        .map(|instance| (instance.address.as_str(), instance.standing, instance.share))
        .collect();
    let expected = [
        ("10.0.0.1:80", Standing::Serving, 75.0),
        ("10.0.0.2:80", Standing::Serving, 25.0),
        ("10.0.0.3:80", Standing::LeftOut, 0.0),
        ("10.0.0.4:80", Standing::InReserve, 0.0),
    ];
    assert_eq!(told, expected);
    let json = serde_json::to_value(&explanation).unwrap();
    assert_eq!(json["viewpoint"]["cluster"], "DEFAULT");
    assert_eq!(
        (&json["instances"][0]["version"], &json["instances"][0]["target"]),
        (&"v2".into(), &"http://10.0.0.1:80".into())
    );
    assert_eq!(json["instances"][3]["reason"], "in reserve: instances of cluster DEFAULT are preferred");
    assert!(explanation.to_string().starts_with("DEFAULT_GROUP@@orders in namespace public: 2 of 4 take requests\n"));
}

#[tokio::test]
async fn a_service_in_another_group_is_found_and_so_are_names_like_it() {
    let registry = registry().await;
    let _group = provide(&registry, ("payments", SERVICE), at(1)).await;
    let _like = provide(&registry, ("", "orders-v2"), at(2)).await;
    let _other = provide(&registry, ("", "stock"), at(3)).await;
    let explanation = consumer(&registry).explain(&orders()).await;
    assert!(explanation.no_instance.as_ref().is_some_and(|why| why.contains("none is registered")), "{explanation}");
    let group = NearMiss::OtherGroup {
        group: "payments".to_owned(),
        name: SERVICE.to_owned(),
        instances: Some(1),
        healthy: Some(1),
    };
    let like =
        NearMiss::SimilarName { group: "DEFAULT_GROUP".to_owned(), name: "orders-v2".to_owned(), instances: Some(1) };
    assert_eq!(explanation.near_misses, [group, like], "{explanation}");
    assert!(explanation.unseen.is_empty(), "{explanation}");
    let json = serde_json::to_value(&explanation).unwrap();
    assert_eq!(json["nearMisses"][0]["kind"], "otherGroup");
    let text = json["nearMisses"][0]["text"].as_str().unwrap();
    assert!(text.contains("group payments has orders with 1 instance"), "{text}");
}

#[tokio::test]
async fn a_service_in_another_namespace_is_found_and_a_name_given_for_an_id_told() {
    let registry = registry().await;
    let create = "/nacos/v1/console/namespaces?customNamespaceId=dev-id&namespaceName=dev&namespaceDesc=";
    assert_eq!(fetch(registry.http(), "POST", create).await.0, 200);
    let _one = provide(&registry, ("", SERVICE), at(1)).await;
    let settings = DiscoveryConfig::builder().server_addr(&registry.server_addr()).namespace("dev");
    let explanation = application(settings).explain(&orders()).await;
    let name = NearMiss::NamespaceName { name: "dev".to_owned(), id: "dev-id".to_owned() };
    let public = NearMiss::OtherNamespace {
        namespace: "public".to_owned(),
        group: "DEFAULT_GROUP".to_owned(),
        name: SERVICE.to_owned(),
        instances: 1,
        healthy: 1,
    };
    assert_eq!(explanation.near_misses, [name, public], "{explanation}");
    let settings = DiscoveryConfig::builder().server_addr(&registry.server_addr()).namespace("prod");
    let explanation = application(settings).explain(&orders()).await;
    let undeclared = |near_miss: &NearMiss| matches!(near_miss, NearMiss::UndeclaredNamespace { declared, .. } if declared.contains(&"dev-id".to_owned()));
    assert!(explanation.near_misses.iter().any(undeclared), "{explanation}");
}

#[tokio::test]
async fn where_the_own_cluster_has_nobody_requests_leave_it_and_it_is_said() {
    let registry = registry().await;
    let _one = provide(&registry, ("", SERVICE), at(1).cluster("c2")).await;
    let explanation = explained(&registry, ServiceSettings::default().with_own_cluster("c1")).await;
    assert_eq!(explanation.serving().count(), 1, "{explanation}");
    let reason = explanation.instances[0].reason.as_deref();
    assert_eq!(reason, Some("cluster c1 has nobody who takes requests"));
    let others = NearMiss::OtherClusters { own: "c1".to_owned(), clusters: addresses(&["c2"]) };
    assert_eq!(explanation.near_misses, [others]);
}

#[tokio::test]
async fn instances_that_the_registry_hides_from_consumers_are_told() {
    let registry = registry().await;
    let _one = provide(&registry, ("", SERVICE), at(1)).await;
    operate(&registry, "PUT", "/instance?serviceName=orders&ip=10.0.0.1&port=80&enabled=false").await;
    until_listed(&registry, SERVICE, 0).await;
    let explanation = consumer(&registry).explain(&orders()).await;
    assert!(!explanation.takes_requests());
    assert_eq!(
        explanation.near_misses,
        [NearMiss::Disabled { instances: addresses(&["10.0.0.1:80"]) }],
        "{explanation}"
    );
}

#[tokio::test]
async fn weights_of_zero_and_bad_health_are_told() {
    let registry = registry().await;
    let drained = provide(&registry, ("", SERVICE), at(1).weight(0.0)).await;
    let explanation = explained(&registry, ServiceSettings::default()).await;
    assert_eq!(
        explanation.near_misses,
        [NearMiss::Drained { instances: addresses(&["10.0.0.1:80"]) }],
        "{explanation}"
    );
    assert_eq!(explanation.instances[0].reason.as_deref(), Some("drained: its weight is 0, or no number"));
    in_time("the end", drained.withdraw()).await.unwrap();
    until_listed(&registry, SERVICE, 0).await;

    let _sick = provide(&registry, ("", SERVICE), at(2).healthy(false)).await;
    let explanation = explained(&registry, ServiceSettings::default()).await;
    assert_eq!(
        explanation.near_misses,
        [NearMiss::Unhealthy { instances: addresses(&["10.0.0.2:80"]) }],
        "{explanation}"
    );
    assert!(explanation.no_instance.as_ref().is_some_and(|why| why.contains("unhealthy")), "{explanation}");
}

#[tokio::test]
async fn addresses_that_cannot_be_used_are_told_with_what_can() {
    let registry = registry().await;
    let _one = provide(&registry, ("", SERVICE), Instance::new(("2001:db8::1", 80))).await;
    let only_v4 = ServiceSettings::default().with_address_family(AddressFamily::Ipv4);
    let explanation = explained(&registry, only_v4).await;
    let unusable = NearMiss::NoUsableAddress { instances: addresses(&["[2001:db8::1]:80"]), usable: "IPv4".to_owned() };
    assert_eq!(explanation.near_misses, [unusable], "{explanation}");
    let dual = ServiceSettings::default().with_address_family(AddressFamily::Dual);
    let explanation = explained(&registry, dual).await;
    assert_eq!(explanation.instances[0].target.as_deref(), Some("http://[2001:db8::1]:80"), "{explanation}");
}

#[derive(Debug)]
struct Version2;

impl Filter for Version2 {
    fn name(&self) -> &str {
        "version 2"
    }

    fn keep(&self, instance: &ServiceInstance) -> bool {
        instance.registered_metadata().get("version").is_some_and(|version| version == "2")
    }

    fn on_empty(&self) -> OnEmpty {
        OnEmpty::KeepEmpty
    }
}

#[tokio::test]
async fn what_a_filter_leaves_out_is_told() {
    let registry = registry().await;
    let _all = (
        provide(&registry, ("", SERVICE), at(1)).await,
        provide(&registry, ("", SERVICE), at(2).metadata("version", "1")).await,
    );
    let explanation = explained(&registry, ServiceSettings::default().with_filter(Version2)).await;
    let filtered =
        NearMiss::Filtered { filter: "version 2".to_owned(), instances: addresses(&["10.0.0.1:80", "10.0.0.2:80"]) };
    assert_eq!(explanation.near_misses, [filtered], "{explanation}");
    assert!(explanation.no_instance.as_ref().is_some_and(|why| why.contains("`version 2` left none of 2")));
}

/// Lets calls of this instance fail until it is ejected.
fn fail(directory: &Directory, address: &str) {
    let endpoints = directory.endpoints(&orders()).expect("a name");
    let is_ejected = || directory.explain(&orders()).instances.iter().any(|one| one.standing == Standing::Ejected);
    for _ in 0..10_000 {
        let picked = endpoints.pick(&mut PickContext::new()).expect("an instance");
        if picked.instance().to_string() == address {
            picked.finish(Outcome::Transport(TransportFailure::Connect));
        }
        if is_ejected() {
            return;
        }
    }
    panic!("it was not ejected");
}

#[tokio::test]
async fn an_ejected_instance_is_told_in_explanation_and_status() {
    let registry = registry().await;
    let _all = (provide(&registry, ("", SERVICE), at(1)).await, provide(&registry, ("", SERVICE), at(2)).await);
    let consumer = consumer(&registry);
    assert_eq!(consumer.explain(&orders()).await.serving().count(), 2);
    fail(consumer.directory(), "10.0.0.2:80");

    let explanation = consumer.directory().explain(&orders());
    let ejected = &explanation.instances[1];
    assert!(matches!(ejected.ejection, Some(EjectionReport::Ejected { relapses: 0, .. })), "{explanation}");
    assert!(ejected.reason.as_ref().is_some_and(|why| why.starts_with("ejected after failed requests")));
    assert_eq!((explanation.instances[0].share, ejected.share), (100.0, 0.0));

    let running = consumer.directory().endpoints(&orders()).unwrap().pick(&mut PickContext::new()).unwrap();
    let status = consumer.status();
    let service = &status.subscriptions[0];
    let traffic = |at: usize| service.instances[at].traffic.as_ref().expect("it is called");
    assert_eq!((traffic(0).effective_weight, traffic(0).in_flight), (Some(1.0), 1));
    assert!(matches!(traffic(1).ejection, Some(EjectionReport::Ejected { .. })));
    let json = serde_json::to_value(&status).unwrap();
    assert_eq!(json["subscriptions"][0]["instances"][1]["traffic"]["ejection"]["state"], "ejected");
    drop(running);
}

#[tokio::test]
async fn what_this_process_knows_is_told_without_asking_or_watching() {
    let registry = registry().await;
    let _one = provide(&registry, ("", SERVICE), at(1)).await;
    let consumer = consumer(&registry);
    let unasked = consumer.directory().explain(&orders());
    assert!(unasked.no_instance.as_ref().is_some_and(|why| why.contains("nobody has asked")), "{unasked}");
    assert!(consumer.status().subscriptions.is_empty(), "an explanation is no reason to watch");

    assert!(consumer.explain(&orders()).await.takes_requests());
    assert_eq!(consumer.directory().explain(&orders()).list.map(|list| (list.protected, list.held)), Some((false, 0)));
    registry.shutdown().await;
    let stale = eventually("the loss is told", async || {
        let explanation = consumer.directory().explain(&orders());
        explanation.list.as_ref()?.stale_for_ms.map(|_| explanation.clone())
    })
    .await;
    assert!(stale.takes_requests() && stale.to_string().contains(", nobody "), "{stale}");
}

#[tokio::test]
async fn without_a_registry_an_explanation_says_so_and_ends() {
    let settings = DiscoveryConfig::builder().server_addr("127.0.0.1:1");
    let explanation = in_time("an explanation", application(impatient(settings)).explain(&orders())).await;
    assert!(explanation.no_instance.is_some() && explanation.list.is_none(), "{explanation}");
    assert!(!explanation.unseen.is_empty(), "{explanation}");
}

#[tokio::test]
async fn where_discovery_is_switched_off_nobody_is_asked() {
    let registry = registry().await;
    let _group = provide(&registry, ("payments", SERVICE), at(1)).await;
    let settings = DiscoveryConfig::builder().server_addr(&registry.server_addr());
    let off = application(settings.property("spring.cloud.nacos.discovery.enabled", "false"));
    let explanation = off.explain(&orders()).await;
    assert!(explanation.no_instance.as_ref().is_some_and(|why| why.contains("switched off")), "{explanation}");
    assert!(explanation.near_misses.is_empty() && explanation.unseen.is_empty(), "{explanation}");
    assert_eq!(off.status().connection.state, "idle");
}

#[tokio::test]
async fn a_registry_that_shows_operators_nothing_is_asked_as_consumers_ask() {
    let registry = registry().await;
    let _default = provide(&registry, ("", SERVICE), at(1)).await;
    let _like = provide(&registry, ("payments", "orders-v2"), at(2)).await;
    let (listener, address) = listen().await;
    let closed = Router::new().fallback(async || StatusCode::FORBIDDEN);
    let front = tokio::spawn(async move { axum::serve(listener, closed).await });
    let entry = format!("{address}?grpc_port={}", SocketAddr::port(&registry.grpc_addr()));
    let consumer = application(DiscoveryConfig::builder().server_addr(&entry).group("payments"));
    let explanation = consumer.explain(&consumer.service_key(SERVICE)).await;
    let near = |group: &str, name: &str| (group.to_owned(), name.to_owned());
    let found: Vec<(String, String)> = explanation
        .near_misses
        .iter()
        .filter_map(|near_miss| match near_miss {
            NearMiss::OtherGroup { group, name, instances: None, .. }
            | NearMiss::SimilarName { group, name, instances: None } => Some((group.clone(), name.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(found, [near("payments", "orders-v2"), near("DEFAULT_GROUP", SERVICE)], "{explanation}");
    assert!(explanation.unseen[0].starts_with("the registry as operators see it"), "{explanation}");
    front.abort();
}
