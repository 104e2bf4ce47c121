//! Each error tells key, value, place, and what is accepted.

use super::{error, read};
use crate::config::{DiscoveryConfig, DiscoveryConfigError};

const PREFIX: &str = "spring.cloud.nacos.discovery.";

#[test]
fn a_wrong_value_is_told_with_its_place_and_what_is_accepted() {
    for (key, value, accepted) in [
        ("weight", "heavy", "0 to 10000"),
        ("weight", "-1", "0 to 10000"),
        ("weight", "10001", "0 to 10000"),
        ("weight", "NaN", "0 to 10000"),
        ("ephemeral", "maybe", "true or false"),
        ("port", "0", "1 to 65535"),
        ("port", "65536", "1 to 65535"),
        ("port", "http", "1 to 65535"),
        ("ip", "10.0.0.1:80", "without a port"),
        ("ip", "http://x", "without a port"),
        ("ip-type", "IPv5", "IPv4 or IPv6"),
        ("heart-beat-interval", "0", "at least 1"),
        ("heart-beat-timeout", "soon", "at least 1"),
        ("ip-delete-timeout", "-5", "at least 1"),
        ("graceful-shutdown-wait-time", "-5", "30s"),
        ("naming-request-timeout", "0", "3600000"),
        ("metadata", "x", "block"),
        ("namespace", "a b", "client takes"),
        ("context-path", "a b", "client takes"),
        ("server-addr", ",", "host:8848"),
        ("server-addr", "host:99999", "client takes"),
        ("server-addr", "a,https://b", "client takes"),
    ] {
        let key = format!("{PREFIX}{key}");
        let sources = [
            ("properties text, line 2", DiscoveryConfig::builder().properties_str(&format!("\n{key}={value}"))),
            ("YAML text, line 2", DiscoveryConfig::builder().yaml_str(&format!("\n{key}: '{value}'"))),
            ("TOML text, line 2", DiscoveryConfig::builder().toml_str(&format!("\n{key} = '{value}'"))),
            ("the code", Ok(DiscoveryConfig::builder().property(&key, value))),
        ];
        for (place, builder) in sources {
            let message = error(builder.and_then(read));
            for part in [&*key, &format!("{value:?}"), place, accepted] {
                assert!(message.contains(part), "{part} is not in: {message}");
            }
        }
        let name = key.replace(['.', '-'], "_").to_uppercase();
        let message = error(read(DiscoveryConfig::builder().variables([(&name, value)])));
        assert!(message.contains(&format!("environment variable {name}")), "{message}");
    }
    for (key, value) in [
        ("spring.cloud.inetutils.ignored-interfaces", "docker(0"),
        ("spring.cloud.inetutils.ignored-interfaces", "a)|(b"),
        ("spring.cloud.inetutils.default-ip-address", "localhost"),
        ("spring.cloud.inetutils.timeout-seconds", "0"),
        ("management.server.port", "70000"),
        ("server.port", "-1"),
        ("server.address", "example.org"),
        ("server.shutdown", "slowly"),
        ("spring.lifecycle.timeout-per-shutdown-phase", "a while"),
    ] {
        let message = error(read(DiscoveryConfig::builder().property(key, value)));
        assert!(message.contains(key) && message.contains(&format!("{value:?}")), "{message}");
    }
}

#[test]
fn what_registries_refuse_is_refused_with_its_place() {
    let long = "x".repeat(2000);
    for (key, value, beside) in [
        ("service", "my orders", ""),
        ("service", "a@@b", ""),
        ("group", "a b", ""),
        ("cluster-name", "rack/7", ""),
        ("ip", "höst\u{4e2d}", ""),
        ("metadata.customInstanceId", "1", "metadata.a=1"),
        ("metadata.preserved.heart.beat.interval", "60000", "metadata.a=1"),
        ("metadata.k", &long, "metadata.a=1"),
        ("heart-beat-timeout", "1000", "heart-beat-interval=2000"),
        ("ip-delete-timeout", "1000", "heart-beat-interval=2000"),
    ] {
        let text = format!("spring.application.name=orders\n{PREFIX}{beside}\n{PREFIX}{key}={value}");
        let text = text.replace(&format!("{PREFIX}\n"), "\n");
        let message = error(DiscoveryConfig::builder().properties_str(&text).and_then(read));
        for part in [&*format!("{PREFIX}{key} "), &format!("{value:?}"), "line 3", "what registries take: "] {
            assert!(message.contains(part), "{part} is not in: {message}");
        }
        let consumer = format!("{text}\n{PREFIX}register-enabled=false");
        assert!(DiscoveryConfig::builder().properties_str(&consumer).and_then(read).is_ok(), "nothing is registered");
    }
    let message = error(read(DiscoveryConfig::builder().property("spring.application.name", "my orders")));
    assert!(message.contains("spring.application.name is \"my orders\""), "{message}");
}

#[test]
fn a_value_stands_for_no_block() {
    for text in ["spring.cloud.nacos.discovery: x", "spring: {cloud: {nacos: {discovery: 3}}}"] {
        let message = error(DiscoveryConfig::builder().yaml_str(text).and_then(read));
        assert!(message.contains("spring.cloud.nacos.discovery is ") && message.contains("a block"), "{message}");
    }
    assert!(DiscoveryConfig::builder().yaml_str("spring.cloud.nacos.discovery:").and_then(read).is_ok());
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest_known_one() {
    for (written, nearest) in [
        ("server-adr", "server-addr"),
        ("serverAddress", "server-addr"),
        ("nameSpace-id", "namespace"),
        ("cluster", "cluster-name"),
        ("wieght", "weight"),
        ("metadatas.version", "metadata"),
        ("heartbeat-intervall", "heart-beat-interval"),
        ("passwrod", "password"),
        ("weight.x", "weight"),
        ("ip[0]", "ip"),
    ] {
        let text = format!("\n{PREFIX}{written}=hunter2");
        match DiscoveryConfig::builder().properties_str(&text).and_then(read) {
            Err(e @ DiscoveryConfigError::UnknownKey { nearest: found, .. }) => {
                assert_eq!(found, format!("{PREFIX}{nearest}"), "{written}");
                let message = e.to_string();
                assert!(message.contains("line 2") && !message.contains("hunter2"), "{message}");
            }
            other => panic!("{written}: {other:?}"),
        }
    }
    let variable = [("SPRING_CLOUD_NACOS_DISCOVERY_SERVER_ADR", "x")];
    let message = error(read(DiscoveryConfig::builder().variables(variable)));
    assert!(
        message.contains("SPRING_CLOUD_NACOS_DISCOVERY_SERVER_ADR") && message.contains("server-addr"),
        "{message}"
    );
    // Elsewhere, others may have keys of their own.
    for key in ["spring.cloud.nacos.config.x", "spring.cloud.nacos.discoveryx", "spring.cloud.inetutils.x", "x"] {
        assert!(read(DiscoveryConfig::builder().property(key, "x")).is_ok(), "{key}");
    }
}

#[test]
fn no_message_tells_a_secret() {
    let secret = "hunter2";
    for (key, is_setting) in [("password", true), ("secret-key", false), ("accessKey", false)] {
        for value in [secret.to_owned(), format!("${{X:{secret}}}"), format!("${{X:{secret}}}${{Y}}")] {
            let name = format!("{PREFIX}{key}");
            let builder = DiscoveryConfig::builder().yaml_str(&format!("{name}: '{value}'")).unwrap();
            let builder = builder.variables([("OTHER", secret)]).property("spring.cloud.nacos.password", secret);
            assert!(!format!("{builder:?}").contains(secret));
            let told = match read(builder) {
                Ok(config) => {
                    assert!(is_setting, "{key} means nothing here, which has to be said");
                    format!("{config:?}")
                }
                Err(error) => format!("{error} {error:?}"),
            };
            assert!(!told.contains(secret), "{told}");
        }
    }
}

#[test]
fn no_message_tells_a_password_of_an_address() {
    for servers in ["http://nacos:hunter2@h:8848", "b:99999,nacos:hunter2@h", "h?password=hunter2"] {
        let error = read(DiscoveryConfig::builder().server_addr(servers)).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
        assert!(
            matches!(&error, DiscoveryConfigError::Value { key, .. } if key.ends_with(".server-addr")),
            "{error:?}"
        );
    }
}

#[test]
fn a_file_is_told_by_its_path() {
    let missing = DiscoveryConfig::from_file("no/such/application.yml").unwrap_err();
    assert!(
        matches!(missing, DiscoveryConfigError::Read { .. }) && missing.to_string().contains("no/such/application.yml")
    );
    let unknown = DiscoveryConfig::from_file("application.json").unwrap_err();
    assert!(matches!(unknown, DiscoveryConfigError::Format { .. }) && unknown.to_string().contains(".toml"));

    let directory = std::env::temp_dir();
    let path = directory.join(format!("nacos-discovery-{}.properties", std::process::id()));
    // Latin-1, as files of this format once were.
    std::fs::write(&path, b"spring.cloud.nacos.discovery.group=\xdcber\nspring.cloud.nacos.discovery.weight=x\n")
        .unwrap();
    let message = error(DiscoveryConfig::builder().file(&path).and_then(read));
    assert!(message.starts_with(&format!("{}, line 2:", path.display())), "{message}");
    std::fs::write(&path, b"spring.cloud.nacos.discovery.group=\xdcber").unwrap();
    let config = DiscoveryConfig::builder().file(&path).and_then(read).unwrap().0;
    assert_eq!(config.group(), "Über");
    std::fs::remove_file(&path).unwrap();
}
