//! What counts more than what.

use super::{error, read};
use crate::config::DiscoveryConfig;

const YAML: &str = "spring.cloud.nacos.discovery:\n  group: file\n  cluster-name: file\n  weight: 2\n  metadata: {a: file, b: file, c: file}\n";

#[test]
fn code_counts_more_than_the_environment_and_that_more_than_files() {
    let variables = [
        ("SPRING_CLOUD_NACOS_DISCOVERY_GROUP", "environment"),
        ("SPRING_CLOUD_NACOS_DISCOVERY_CLUSTER_NAME", "environment"),
        ("SPRING_CLOUD_NACOS_DISCOVERY_METADATA_B", "environment"),
        ("SPRING_CLOUD_NACOS_DISCOVERY_METADATA_C", "environment"),
    ];
    let builder = DiscoveryConfig::builder().group("code").metadata("c", "code");
    let (config, _) = read(builder.yaml_str(YAML).unwrap().variables(variables)).unwrap();
    assert_eq!((config.group(), config.cluster(), config.weight()), ("code", "environment", 2.0));
    let metadata: Vec<_> = config.metadata().values().map(String::as_str).collect();
    assert_eq!(metadata, ["file", "environment", "code"]);
}

#[test]
fn what_is_set_to_nothing_hides_what_is_below() {
    let empty = [("SPRING_CLOUD_NACOS_DISCOVERY_GROUP", "")];
    let (config, _) = read(DiscoveryConfig::builder().yaml_str(YAML).unwrap().variables(empty)).unwrap();
    assert_eq!(config.group(), "DEFAULT_GROUP");
}

#[test]
fn own_servers_count_more_than_shared_ones_in_every_source() {
    let builder =
        || DiscoveryConfig::builder().properties_str("spring.cloud.nacos.discovery.server-addr=own:1").unwrap();
    let shared = [("SPRING_CLOUD_NACOS_SERVERADDR", "shared:1")];
    assert_eq!(read(builder().variables(shared)).unwrap().0.servers(), "own:1");
    assert_eq!(read(DiscoveryConfig::builder().variables(shared)).unwrap().0.servers(), "shared:1");
}

#[test]
fn placeholders_stand_for_keys_and_variables() {
    let text = "spring.application.name: orders\nspring.cloud.nacos.discovery:\n  service: ${spring.application.name}-${ZONE:x}\n  \
                server-addr: ${NACOS_HOST:127.0.0.1}:${NACOS_PORT:8848}\n  group: ${spring.cloud.nacos.discovery.clusterName}\n  \
                cluster-name: ${CLUSTER}\n  username: ${NACOS_USERNAME:}\n  password: ${NACOS_PASSWORD:}\nother: ${NEVER_READ}\n";
    let builder = || DiscoveryConfig::builder().yaml_str(text).unwrap();
    let (config, _) = read(builder().variables([("CLUSTER", "c1"), ("NACOS_HOST", "nacos")])).unwrap();
    assert_eq!((config.service(), config.servers()), (Some("orders-x"), "nacos:8848"));
    assert_eq!((config.group(), config.cluster()), ("c1", "c1"));

    let message = error(read(builder()));
    assert!(message.contains("${CLUSTER}") && message.contains("YAML text, line"), "{message}");
    // What code sets is taken as it is.
    let (config, _) = read(DiscoveryConfig::builder().group("${CLUSTER}")).unwrap();
    assert_eq!(config.group(), "${CLUSTER}");
}

#[test]
fn heart_beats_follow_their_interval_and_a_hurried_ratio_is_told() {
    let builder = |text: &str| DiscoveryConfig::builder().properties_str(text).unwrap();
    let (config, notes) = read(builder("spring.cloud.nacos.discovery.heart-beat-interval=10000")).unwrap();
    assert_eq!(config.heart_beat().delete.unwrap().as_secs(), 60);
    assert!(notes.is_empty());
    let (_, notes) = read(builder("spring.cloud.nacos.discovery.heart-beat-timeout=6000")).unwrap();
    assert!(matches!(&*notes, [note] if note.starts_with("warn: ")), "{notes:?}");
}
