use serde_json::Value;

use super::*;

/// What an application of Spring Cloud Alibaba 2023.0.1.2 sent to a real Nacos 2.5.1, and what another one was told of it.
const RECORDED: &str = include_str!("spring-cloud-alibaba.json");

/// The recorded application's own configuration.
const APPLICATION: &str = "
spring:
  application:
    name: vec-sca
  cloud:
    nacos:
      discovery:
        ip: 127.0.0.1
        metadata:
          zone: a
";

fn recorded() -> Value {
    serde_json::from_str(RECORDED).unwrap()
}

fn metadata_of(instance: &Value) -> BTreeMap<String, String> {
    serde_json::from_value(instance["metadata"].clone()).unwrap()
}

fn config(lines: &str) -> DiscoveryConfig {
    DiscoveryConfig::builder().properties_str(lines).unwrap().build().unwrap()
}

#[tokio::test]
async fn the_same_configuration_registers_what_spring_cloud_alibaba_registers() {
    let theirs = &recorded()["registration"];
    let instance = &theirs["instance"];
    let bound = SocketAddr::from(([0, 0, 0, 0], 37091));
    let application = || DiscoveryConfig::builder().yaml_str(APPLICATION).unwrap();
    let config = application().build().unwrap();
    let ours = config.instance(bound).await.unwrap();

    assert_eq!(config.service(), theirs["serviceName"].as_str());
    assert_eq!(Some(config.group()), theirs["groupName"].as_str());
    assert_eq!(Some(config.namespace().as_str()), theirs["namespace"].as_str());
    assert_eq!((Some(&*ours.ip), Some(u64::from(ours.port))), (instance["ip"].as_str(), instance["port"].as_u64()));
    assert_eq!((Some(ours.weight), Some(ours.healthy)), (instance["weight"].as_f64(), instance["healthy"].as_bool()));
    assert_eq!(
        (Some(ours.enabled), Some(ours.ephemeral)),
        (instance["enabled"].as_bool(), instance["ephemeral"].as_bool())
    );
    // The source alone differs, and only until it is set.
    let mut expected = metadata_of(instance);
    assert_eq!(expected.insert(SOURCE_KEY.to_owned(), SOURCE.to_owned()).as_deref(), Some("SPRING_CLOUD"));
    assert_eq!(ours.metadata, expected);
    let config = application().metadata(SOURCE_KEY, "SPRING_CLOUD").build().unwrap();
    assert_eq!(config.instance(bound).await.unwrap().metadata, metadata_of(instance));

    // Where they left the cluster to the registry, consumers see the one we name.
    let host = &recorded()["list"]["serviceInfo"]["hosts"][0];
    assert_eq!(Some(&*ours.cluster), host["clusterName"].as_str());
}

#[test]
fn each_setting_that_consumers_read_has_its_key() {
    let config = config(
        "spring.cloud.nacos.discovery.secure=true\n\
         spring.cloud.nacos.discovery.heart-beat-interval=1000\n\
         spring.cloud.nacos.discovery.heart-beat-timeout=4s\n\
         spring.cloud.nacos.discovery.ip-delete-timeout=9000\n\
         spring.cloud.nacos.discovery.metadata.secure=no\n\
         spring.cloud.nacos.discovery.metadata.version=v2\n\
         management.server.port=9091\n\
         management.server.servlet.context-path=/m\n\
         management.server.address=10.0.0.2\n\
         management.endpoints.web.base-path=/act",
    );
    let metadata = metadata(&config, Some("2001:db8::5".parse().unwrap()));
    let entries: Vec<_> = metadata.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(
        entries,
        [
            ("IPv6", "[2001:db8::5]"),
            ("management.address", "10.0.0.2"),
            ("management.context-path", "/m"),
            ("management.endpoints.web.base-path", "/act"),
            ("management.port", "9091"),
            ("preserved.heart.beat.interval", "1000"),
            ("preserved.heart.beat.timeout", "4000"),
            ("preserved.ip.delete.timeout", "9000"),
            ("preserved.register.source", "RUST"),
            ("secure", "true"),
            ("version", "v2"),
        ]
    );
}

#[test]
fn without_a_management_port_only_the_base_path_is_told() {
    let config = config(
        "management.server.servlet.context-path=/m\nmanagement.server.address=10.0.0.2\nmanagement.endpoints.web.base-path=/act",
    );
    let keys: Vec<_> = metadata(&config, None).into_keys().collect();
    assert_eq!(keys, ["management.endpoints.web.base-path", SOURCE_KEY]);
}

#[tokio::test]
async fn the_port_is_the_listeners_unless_it_is_set() {
    let bound = SocketAddr::from(([10, 0, 0, 9], 4711));
    let own = config("").instance(bound).await.unwrap();
    assert_eq!((&*own.ip, own.port), ("10.0.0.9", 4711));
    let set = config("spring.cloud.nacos.discovery.port=80\nspring.cloud.nacos.discovery.ephemeral=false");
    let own = set.instance(bound).await.unwrap();
    assert_eq!((own.port, own.ephemeral), (80, false));
}
