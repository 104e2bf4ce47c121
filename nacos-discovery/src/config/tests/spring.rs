//! A whole application's configuration, as Spring reads it.

use super::read;
use crate::config::DiscoveryConfig;

pub(super) const APPLICATION: &str = include_str!("application.yml");

/// What Spring Boot 3.2.4 with Spring Cloud Alibaba 2023.0.1.2 made of it is what is expected here.
#[test]
fn a_spring_application_works_unchanged() {
    let builder = DiscoveryConfig::builder().yaml_str(APPLICATION).unwrap();
    let variables = [
        ("NACOS_SERVER_ADDR", "nacos-0:8848,nacos-1:8848"),
        ("SPRING_CLOUD_NACOS_DISCOVERY_WEIGHT", "3"),
        ("PATH", "/bin"),
    ];
    let (config, notes) = read(builder.variables(variables)).unwrap_or_else(|e| panic!("{e}"));

    assert_eq!((config.service(), config.servers()), (Some("order-service"), "nacos-0:8848,nacos-1:8848"));
    assert_eq!((config.namespace().as_str(), config.group()), ("dev", "ORDER_GROUP"));
    assert_eq!((config.cluster(), config.weight(), config.ephemeral()), ("hangzhou", 3.0, true));
    assert_eq!(config.listen().socket_addr().to_string(), "0.0.0.0:8081");
    assert_eq!((config.shutdown().drain.as_secs(), config.management().port), (25, Some(9081)));
    let metadata: Vec<_> = config.metadata().iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(
        metadata,
        [("env", "gray"), ("git-commit", "unknown"), ("owner", "order-service"), ("version", "1.4.2")]
    );
    assert_eq!(config.address().ignored_interfaces.len(), 2);
    // One line for each profile, one for the key without effect.
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(config.client_config().is_ok());
}
