//! Finding and watching others.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use nacos_client::{Instance, NamingService, ServiceKey};
use nacos_discovery::{DiscoveryClient, DiscoveryError, InstancesChange, NacosDiscovery, ServiceInstance};
use nacos_tests::wait::{eventually, in_time};

use crate::support::*;

fn ports(instances: &[ServiceInstance]) -> Vec<u16> {
    instances.iter().map(ServiceInstance::port).collect()
}

async fn change(changes: &mut nacos_discovery::InstanceChanges) -> InstancesChange {
    in_time("a change", changes.next()).await.expect("it goes on")
}

/// What Spring Cloud Alibaba makes of an instance: spring-cloud-starter-alibaba-nacos-discovery, `hostToServiceInstance`.
#[tokio::test]
async fn an_instance_reads_as_spring_cloud_alibaba_shows_it() {
    let registry = registry().await;
    let other = NamingService::builder().servers([registry.server_addr()]).build().unwrap();
    let instance = Instance::new(("10.0.0.9", 8443)).weight(2.0).cluster("c1").metadata("secure", "true");
    let held = other.service(("G", SERVICE)).unwrap().register(instance.metadata("nacos.weight", "99")).unwrap();
    held.confirmed().await.unwrap();

    let key = ServiceKey::new("G", SERVICE);
    let list = provider(&registry).client().instances(&key).await.unwrap();
    let one = &list[0];
    assert_eq!((one.service(), one.uri().as_str(), one.secure()), (&key, "https://10.0.0.9:8443", true));
    assert_eq!((one.weight(), one.cluster(), one.healthy(), one.ephemeral()), (2.0, "c1", true, true));
    let view = one.metadata();
    let shown = ["nacos.weight", "nacos.healthy", "nacos.cluster", "nacos.ephemeral", "secure"];
    let shown = shown.map(|key| view.get(key).unwrap_or_default().into_owned());
    assert_eq!(shown, ["2.0", "true", "c1", "true", "true"]);
    assert_eq!(view.get("nacos.instanceId").as_deref(), one.instance_id());
    assert_eq!(one.registered_metadata()["nacos.weight"], "99");
}

#[tokio::test]
async fn a_watch_tells_who_comes_who_changes_and_who_goes() {
    let registry = registry().await;
    let consumer = provider(&registry);
    let mut changes = consumer.client().watch(&ServiceKey::new("", SERVICE)).unwrap();
    assert!(change(&mut changes).await.list.is_empty());

    let me = provider(&registry).registrar().register("127.0.0.1:4711".parse().unwrap()).await.unwrap();
    assert_eq!(ports(&change(&mut changes).await.added), [4711]);
    me.update(|registration| registration.instance.weight = 5.0).await.unwrap();
    let modified = change(&mut changes).await.modified;
    assert_eq!((ports(&modified), modified[0].weight()), (vec![4711], 5.0));
    me.update(|registration| registration.instance.weight = 0.0).await.unwrap();
    assert_eq!(ports(&change(&mut changes).await.removed), [4711], "it takes no traffic");
    drop(changes);
    consumer.shutdown(Duration::from_secs(5)).await;
    assert!(matches!(consumer.client().watch(&ServiceKey::new("", SERVICE)), Err(DiscoveryError::Start(_))));
}

#[tokio::test]
async fn while_the_registry_is_away_the_last_list_is_served_and_marked() {
    let registry = registry().await;
    let me = provider(&registry).registrar().register("127.0.0.1:4711".parse().unwrap()).await.unwrap();
    let consumer = application(impatient(settings(&registry)));
    let key = ServiceKey::new("", SERVICE);
    let mut changes = consumer.client().watch(&key).unwrap();
    while change(&mut changes).await.list.is_empty() {}
    registry.shutdown().await;

    let stale = change(&mut changes).await.list;
    assert!(stale.stale_since().is_some() && stale.len() == 1);
    assert_eq!(ports(&consumer.client().instances(&key).await.unwrap()), [4711]);
    let error = consumer.client().probe().await.unwrap_err();
    assert!(error.is_retryable(), "a probe asks the registry: {error}");
    let unknown = consumer.client().instances(&ServiceKey::new("", "never-seen")).await.unwrap_err();
    assert!(unknown.is_retryable(), "no answer is no empty list: {unknown}");
    drop(me);
}

#[tokio::test]
async fn names_of_services_are_listed_and_watched() {
    let registry = registry().await;
    let consumer = NacosDiscovery::new(application(impatient(settings(&registry))).nacos().clone())
        .services_interval(Duration::from_millis(20));
    let mut names = consumer.watch_services("").unwrap();
    assert!(in_time("names", names.next()).await.unwrap().unwrap().names.is_empty());
    let me = provider(&registry).registrar().register("127.0.0.1:4711".parse().unwrap()).await.unwrap();
    assert_eq!(in_time("names", names.next()).await.unwrap().unwrap().added, [SERVICE]);
    assert_eq!(consumer.services("").await.unwrap(), [SERVICE]);
    assert!(consumer.services("other").await.unwrap().is_empty());
    assert!(consumer.probe().await.is_ok());

    registry.fault().freeze();
    assert!(in_time("the outage", names.next()).await.unwrap().is_err());
    registry.fault().thaw();
    me.update(|registration| registration.service = ServiceKey::new("", "orders-v2")).await.unwrap();
    assert_eq!(in_time("names", names.next()).await.unwrap().unwrap().added, ["orders-v2"]);
}

#[tokio::test]
async fn a_service_is_looked_up_in_the_group_that_is_configured() {
    let registry = registry().await;
    let application = application(settings(&registry).group("G"));
    let _me = application.registrar().register("127.0.0.1:4711".parse().unwrap()).await.unwrap();
    let key = application.service_key(SERVICE);
    assert_eq!(key, ServiceKey::new("G", SERVICE));
    assert_eq!(ports(&application.client().instances(&key).await.unwrap()), [4711]);
}

#[tokio::test]
async fn invalid_names_and_disabled_discovery_ask_nobody() {
    let registry = registry().await;
    let consumer = provider(&registry);
    let invalid = ServiceKey::new("", "");
    assert!(matches!(consumer.client().instances(&invalid).await, Err(DiscoveryError::Invalid(_))));
    assert!(matches!(consumer.client().watch(&invalid), Err(DiscoveryError::Invalid(_))));

    let me = provider(&registry).registrar().register("127.0.0.1:4711".parse().unwrap()).await.unwrap();
    let off = application(settings(&registry).property("spring.cloud.nacos.discovery.enabled", "false"));
    assert!(off.client().instances(&ServiceKey::new("", SERVICE)).await.unwrap().is_empty());
    assert!(off.client().services("").await.unwrap().is_empty());
    let mut changes = off.client().watch(&ServiceKey::new("", SERVICE)).unwrap();
    assert!(change(&mut changes).await.list.is_empty());
    assert!(changes.next().now_or_never().is_none(), "it goes on");
    eventually("only the provider is connected", async || (registry.connections().len() <= 2).then_some(())).await;
    drop(me);
}
