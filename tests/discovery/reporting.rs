//! What a status tells, and what it does not.

use nacos_client::{Instance, NamingService, ServiceKey};
use nacos_discovery::{Discovery, DiscoveryClient, DiscoveryConfig, NacosDiscovery};

use crate::support::*;

#[tokio::test]
async fn a_status_tells_connection_registration_and_subscriptions() {
    let registry = registry().await;
    let discovery = provider(&registry);
    let idle = discovery.status();
    assert_eq!((idle.connection.state, idle.registrations.len(), idle.subscriptions.len()), ("idle", 0, 0));

    let me = discovery.registrar().register("127.0.0.1:4711".parse().unwrap()).await.unwrap();
    let handle = discovery.nacos().service(SERVICE).unwrap();
    let drained = handle.register(Instance::new(("127.0.0.1", 4712)).weight(0.0)).unwrap();
    let sick = handle.register(Instance::new(("127.0.0.1", 4713)).healthy(false)).unwrap();
    drained.confirmed().await.unwrap();
    sick.confirmed().await.unwrap();
    handle.refresh().await.unwrap();

    let report = discovery.status();
    assert_eq!((report.connection.state, report.connection.protocol.as_deref()), ("connected", Some("gRPC")));
    let registration = &report.registrations[0];
    assert_eq!((registration.state, registration.service.as_deref()), ("registered", Some("DEFAULT_GROUP@@orders")));
    let service = &report.subscriptions[0];
    assert_eq!((service.usable, service.drained, service.unhealthy), (1, 1, 1));
    assert_eq!((service.instances.len(), service.listeners, service.known), (3, 0, true));
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["subscriptions"][0]["instances"][0]["address"], "127.0.0.1:4711");

    registry.shutdown().await;
    nacos_tests::wait::wait_until("the loss is seen", || discovery.status().connection.state == "disconnected").await;
    let report = discovery.status();
    assert!(report.subscriptions[0].stale_for_ms.is_some());
    assert_ne!(report.registrations[0].state, "registered");
    drop((me, drained, sick));
}

#[tokio::test]
async fn the_namespace_told_is_that_of_the_client_in_use() {
    let nacos = NamingService::builder().servers(["127.0.0.1:1"]).namespace("tenant").build().unwrap();
    let discovery = Discovery::with_client(DiscoveryConfig::default(), nacos);
    assert_eq!(discovery.status().namespace, "tenant");
}

#[tokio::test]
async fn a_status_keeps_no_service_up_to_date() {
    let registry = registry().await;
    let discovery = provider(&registry);
    let key = ServiceKey::new("", SERVICE);
    NacosDiscovery::new(discovery.nacos().clone()).instances(&key).await.unwrap();
    assert_eq!(discovery.status().subscriptions.len(), 1);
    discovery.nacos().service(&key).unwrap().unsubscribe();
    assert!(discovery.status().subscriptions.is_empty(), "to look at it is no reason to keep it");
}
