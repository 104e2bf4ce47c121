//! Every key by every way in.

use std::net::IpAddr;
use std::time::Duration;

use nacos_client::Credentials;

use super::{error, read};
use crate::config::{DiscoveryConfig, DiscoveryConfigBuilder, DiscoveryConfigError, IpType, ShutdownMode};

const PREFIX: &str = "spring.cloud.nacos.discovery.";

/// A key, a value, and what the configuration must then say.
type Row = (&'static str, &'static str, fn(&DiscoveryConfig) -> bool);

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The keys below the prefix that have a meaning.
const MEANT: &[Row] = &[
    ("enabled", "false", |c| !c.enabled()),
    ("server-addr", "a:1,b:2/", |c| c.servers() == "a:1,b:2"),
    ("namespace", "dev-1", |c| c.namespace().as_str() == "dev-1"),
    ("group", "G1", |c| c.group() == "G1"),
    ("service", "orders", |c| c.service() == Some("orders")),
    ("cluster-name", "c1", |c| c.cluster() == "c1"),
    ("weight", "2.5", |c| c.weight() == 2.5),
    ("ephemeral", "false", |c| !c.ephemeral()),
    ("instance-enabled", "no", |c| !c.instance_enabled()),
    ("register-enabled", "off", |c| !c.register_enabled()),
    ("fail-fast", "FALSE", |c| !c.fail_fast()),
    ("ip", "10.1.2.3", |c| c.address().ip.as_deref() == Some("10.1.2.3")),
    ("ip-type", "ipv6", |c| c.address().ip_type == Some(IpType::V6)),
    ("network-interface", "eth1", |c| c.address().network_interface.as_deref() == Some("eth1")),
    ("port", "9090", |c| c.port() == Some(9090)),
    ("port", "-1", |c| c.port().is_none()),
    ("secure", "true", |c| c.secure()),
    ("metadata.version", "v2", |c| c.metadata()["version"] == "v2"),
    ("heart-beat-interval", "1000", |c| c.heart_beat().interval == Some(millis(1000))),
    ("heart-beat-timeout", "20s", |c| c.heart_beat().timeout == Some(millis(20_000))),
    ("ip-delete-timeout", "40000", |c| c.heart_beat().delete == Some(millis(40_000))),
    ("graceful-shutdown-wait-time", "0", |c| c.shutdown().propagation_wait.is_zero()),
    ("naming-push-empty-protection", "true", |c| c.client().empty_protection),
    ("naming-request-timeout", "1500", |c| c.client().request_timeout == Some(millis(1500))),
    ("naming-request-timeout", "-1", |c| c.client().request_timeout.is_none()),
    ("client.naming-request-timeout", "1500", |c| c.client().request_timeout == Some(millis(1500))),
    ("context-path", "/registry", |c| c.client().context_path.as_deref() == Some("/registry")),
    ("naming-load-cache-at-start", "false", |_| true),
];

/// Keys elsewhere that are read.
const RELATED: &[Row] = &[
    ("spring.application.name", "orders", |c| c.service() == Some("orders") && c.application() == Some("orders")),
    ("spring.cloud.nacos.server-addr", "shared:1", |c| c.servers() == "shared:1"),
    ("spring.cloud.discovery.enabled", "false", |c| !c.enabled()),
    ("spring.cloud.service-registry.auto-registration.enabled", "false", |c| !c.register_enabled()),
    ("spring.cloud.inetutils.default-ip-address", "10.0.0.1", |c| {
        c.address().default_ip == IpAddr::from([10, 0, 0, 1])
    }),
    ("spring.cloud.inetutils.timeout-seconds", "3", |c| c.address().timeout == millis(3000)),
    ("spring.cloud.inetutils.use-only-site-local-interfaces", "true", |c| c.address().only_site_local),
    ("spring.cloud.inetutils.ignored-interfaces", "docker0, veth.*", |c| c.address().ignored_interfaces.len() == 2),
    ("spring.cloud.inetutils.preferred-networks", "192.168", |c| {
        c.address().preferred_networks[0].as_str() == "192.168"
    }),
    ("management.server.port", "9091", |c| c.management().port == Some(9091)),
    ("management.server.servlet.context-path", "/m", |c| c.management().context_path.as_deref() == Some("/m")),
    ("management.server.address", "10.0.0.2", |c| c.management().address.as_deref() == Some("10.0.0.2")),
    ("management.endpoints.web.base-path", "/act", |c| c.management().base_path.as_deref() == Some("/act")),
    ("server.port", "0", |c| c.listen().port == 0),
    ("server.address", "127.0.0.1", |c| c.listen().socket_addr().to_string() == "127.0.0.1:8080"),
    ("server.shutdown", "immediate", |c| c.shutdown().mode == ShutdownMode::Immediate),
    ("spring.lifecycle.timeout-per-shutdown-phase", "20s", |c| c.shutdown().drain == millis(20_000)),
];

/// Keys that have no effect here: a value, and one warning.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    ("watch.enabled", "true"),
    ("watch-delay", "30000"),
    ("heart-beat.enabled", "true"),
    ("log-name", "x.log"),
    ("failure-tolerance-enabled", "true"),
    ("naming-client-beat-thread-count", "2"),
    ("naming-polling-thread-count", "2"),
    ("naming-polling-max-thread-count", "2"),
    ("redo-delay-thread-count", "1"),
    ("redo-delay-time", "3000"),
    ("naming-async-query-subscribe-service", "true"),
    ("naming-request-domain-max-retry-count", "3"),
    ("is-use-cloud-namespace-parsing", "true"),
    ("is-use-endpoint-parsing-rule", "true"),
    ("enable-client-metrics", "true"),
    ("log-all-properties", "false"),
    ("client.something-new", "1"),
];

/// Keys of features that are not built in, with the feature.
const NOT_BUILT_IN: &[(&str, &str)] = &[
    ("access-key", "cloud keys"),
    ("secret-key", "cloud keys"),
    ("ram-role-name", "cloud keys"),
    ("signature-region-id", "cloud keys"),
    ("is-use-ram-info-parsing", "cloud keys"),
    ("endpoint", "address server"),
    ("endpoint-port", "address server"),
    ("endpoint-context-path", "address server"),
    ("endpoint-cluster-name", "address server"),
    ("endpoint-query-params", "address server"),
    ("endpoint-refresh-interval-seconds", "address server"),
    ("naming-cache-registry-dir", "on disk"),
];

fn camel(key: &str) -> String {
    let mut upper = false;
    let mut out = String::new();
    for c in key.chars() {
        match c {
            '-' => upper = true,
            c if upper => {
                out.extend(c.to_uppercase());
                upper = false;
            }
            c => out.push(c),
        }
    }
    out
}

/// One key by every way there is.
fn ways(key: &str, value: &str) -> Vec<(String, Result<DiscoveryConfigBuilder, DiscoveryConfigError>)> {
    let nested = |key: &str| {
        let depth = key.split('.').count();
        let lines = key.split('.').enumerate().map(|(at, element)| {
            let end = if at + 1 == depth { format!(" '{value}'\n") } else { "\n".to_owned() };
            format!("{}{element}:{end}", "  ".repeat(at))
        });
        lines.collect::<String>()
    };
    let variable = |key: &str| key.replace(['.', '-'], "_").to_uppercase();
    let mut ways = vec![("code".to_owned(), Ok(DiscoveryConfig::builder().property(key, value)))];
    for key in [key.to_owned(), camel(key)] {
        let texts = [format!("{key}: '{value}'"), nested(&key)];
        ways.extend(texts.into_iter().map(|text| (text.clone(), DiscoveryConfig::builder().yaml_str(&text))));
        let text = format!("{key} = {value}");
        ways.push((text.clone(), DiscoveryConfig::builder().properties_str(&text)));
        let text = format!("{key} = '{value}'");
        ways.push((text.clone(), DiscoveryConfig::builder().toml_str(&text)));
    }
    for name in [variable(key), variable(&key.replace('-', ""))] {
        ways.push((name.clone(), Ok(DiscoveryConfig::builder().variables([(name, value)]))));
    }
    ways
}

#[test]
fn every_key_has_its_meaning_by_every_way_in() {
    let meant = MEANT.iter().map(|(key, value, holds)| (format!("{PREFIX}{key}"), value, holds));
    let related = RELATED.iter().map(|(key, value, holds)| ((*key).to_owned(), value, holds));
    for (key, value, holds) in meant.chain(related) {
        for (way, builder) in ways(&key, value) {
            let (config, notes) = read(builder.unwrap()).unwrap_or_else(|e| panic!("{way}: {e}"));
            assert!(holds(&config), "{way}: {config:?}");
            assert!(notes.is_empty(), "{way}: {notes:?}");
        }
    }
}

#[test]
fn a_key_without_effect_is_told_once() {
    for (suffix, value) in WITHOUT_EFFECT {
        let key = format!("{PREFIX}{suffix}");
        for (way, builder) in ways(&key, value) {
            // In a second source as well: still one line.
            let (config, notes) =
                read(builder.unwrap().property(&key, *value)).unwrap_or_else(|e| panic!("{way}: {e}"));
            assert_eq!(config, DiscoveryConfig::default(), "{way}");
            assert!(
                matches!(&*notes, [note] if note.starts_with("warn: ") && note.contains("no effect")),
                "{way}: {notes:?}"
            );
        }
    }
}

#[test]
fn a_key_whose_feature_is_not_built_in_is_an_error_that_names_it() {
    for (key, feature) in NOT_BUILT_IN.iter().map(|(suffix, feature)| (format!("{PREFIX}{suffix}"), *feature)) {
        for (way, builder) in ways(&key, "hunter2") {
            let message = error(read(builder.unwrap()));
            assert!(message.contains(feature) && message.contains(&key), "{way}: {message}");
            assert!(!message.contains("hunter2"), "{way}: {message}");
        }
        // Empty, as placeholders with an empty default leave it, is not set.
        assert!(read(DiscoveryConfig::builder().property(&key, "")).is_ok(), "{key}");
    }
    let key = format!("{PREFIX}naming-load-cache-at-start");
    let message = error(read(DiscoveryConfig::builder().property(&key, "true")));
    assert!(message.contains("on disk"), "{message}");
}

#[test]
fn user_and_password_are_those_of_discovery_else_those_of_all_of_nacos() {
    let logs_in = |pairs: &[(&str, &str)]| {
        let builder =
            pairs.iter().fold(DiscoveryConfig::builder(), |builder, (key, value)| builder.property(key, *value));
        let config = read(builder).unwrap().0;
        assert_eq!(config.client_config().unwrap().logs_in(), config.client().credentials.is_some());
        config.client().credentials.clone()
    };
    let (user, password) = (format!("{PREFIX}username"), format!("{PREFIX}password"));
    let (all_user, all_password) = ("spring.cloud.nacos.username", "spring.cloud.nacos.password");
    let own = [(&*user, "app"), (&*password, "p w")];
    assert_eq!(logs_in(&own), Some(Credentials::new("app", "p w")));
    assert_eq!(logs_in(&[(all_user, "all"), (all_password, "q")]), Some(Credentials::new("all", "q")));
    assert_eq!(
        logs_in(&[own[0], own[1], (all_user, "all"), (all_password, "q")]),
        Some(Credentials::new("app", "p w"))
    );
    assert_eq!(logs_in(&[own[0], (all_password, "q")]), Some(Credentials::new("app", "q")));
    // As placeholders with an empty default leave it.
    assert_eq!(logs_in(&[(&user, ""), (&password, "p")]), None);
    assert_eq!(logs_in(&[]), None);
}

#[test]
fn the_defaults_are_those_of_spring() {
    let (config, notes) = read(DiscoveryConfig::builder()).unwrap();
    assert!(notes.is_empty());
    assert_eq!(config, DiscoveryConfig::default());
    assert_eq!((config.servers(), config.namespace().as_str()), ("127.0.0.1:8848", "public"));
    assert_eq!((config.group(), config.cluster(), config.service()), ("DEFAULT_GROUP", "DEFAULT", None));
    assert!(config.enabled() && config.register_enabled() && config.instance_enabled());
    assert!(config.ephemeral() && config.fail_fast() && !config.secure());
    assert_eq!((config.weight(), config.port()), (1.0, None));
    assert_eq!((config.shutdown().propagation_wait, config.shutdown().drain), (millis(10_000), millis(30_000)));
}
