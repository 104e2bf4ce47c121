//! The parameter rules, at their edges.

use nacos_proto::grpc::{Instance, MetadataMap};
use nacos_proto::param::{self, Rule};

#[test]
fn service_names() {
    for good in ["a@b", "a/b,c$d#e%f", "order-service", "供", " x", "a:b.c", &"x".repeat(512), "", "  "] {
        assert!(param::service(good).is_ok(), "{good:?}");
    }
    for bad in ["@a", "a@@b", "a b", "rec服务", "a\tb", "g@@s"] {
        assert_eq!(param::service(bad).expect_err(bad).rule, Rule::IllegalCharacters);
    }
    assert_eq!(param::service(&"x".repeat(513)).expect_err("long").rule, Rule::TooLong(512));
    // A code point beyond the basic plane is two code units.
    assert!(param::service(&"😀".repeat(256)).is_ok());
    assert_eq!(param::service(&"😀".repeat(257)).expect_err("long").rule, Rule::TooLong(512));
}

#[test]
fn groups_namespaces_and_clusters() {
    assert!(param::group("A-b_c:d.e1").is_ok());
    for bad in ["a@@b", "组", "a/b", "a b"] {
        assert_eq!(param::group(bad).expect_err(bad).rule, Rule::IllegalCharacters);
    }
    assert!(param::namespace("7f5c9e2a-0b_1").is_ok());
    assert_eq!(param::namespace("a.b").expect_err("dot").param, "namespaceId/tenant");
    assert_eq!(param::namespace("ä").expect_err("not ASCII").rule, Rule::IllegalCharacters);
    assert!(param::clusters("c1,c2,").is_ok());
    assert!(param::clusters("c1, c2").is_err());
    assert!(param::cluster("a_b").is_ok());
    assert!(param::cluster("a,b").is_err());
    assert_eq!(
        param::registering_cluster("a_b").expect_err("underscore").to_string(),
        "Instance 'clusterName' should be characters with only 0-9a-zA-Z-. (current: a_b)"
    );
}

#[test]
fn instances() {
    let with = |change: fn(&mut Instance)| {
        let mut instance = Instance { ip: Some("10.0.0.1".into()), port: 80, ..Instance::default() };
        change(&mut instance);
        param::instance(&instance, param::MAX_METADATA).map_err(|e| e.param)
    };
    assert_eq!(with(|_| ()), Ok(()));
    assert_eq!(with(|i| i.port = 0), Ok(()));
    assert_eq!(with(|i| i.port = 65_536), Err("port"));
    assert_eq!(with(|i| i.port = -1), Err("port"));
    assert_eq!(with(|i| i.ip = Some("1.1 .1.1".into())), Err("ip"));
    assert_eq!(with(|i| i.ip = Some("host.example".into())), Ok(()));
    assert_eq!(with(|i| i.cluster_name = Some("群".into())), Err("cluster"));
    assert_eq!(with(|i| i.service_name = Some("g@@s".into())), Err("serviceName"));
    assert_eq!(with(|i| i.metadata = MetadataMap::from_iter([("k", "v".repeat(1_023))])), Ok(()));
    assert_eq!(with(|i| i.metadata = MetadataMap::from_iter([("k", "v".repeat(1_024))])), Err("Metadata"));
}

#[test]
fn weights() {
    for good in [0.0, 0.1, 1.0, 10_000.0] {
        assert!(param::weight(good).is_ok());
    }
    for bad in [-1.0, 10_000.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(param::weight(bad).is_err(), "{bad}");
    }
}

#[test]
fn beat_times() {
    let times = |interval: &str, timeout: &str, delete: &str| {
        param::beat_times(&Instance {
            metadata: [
                ("preserved.heart.beat.interval", interval),
                ("preserved.heart.beat.timeout", timeout),
                ("preserved.ip.delete.timeout", delete),
            ]
            .into_iter()
            .collect(),
            ..Instance::default()
        })
    };
    assert!(times("1000", "1000", "1000").is_ok());
    assert!(times("2000", "1000", "30000").is_err());
    assert!(times("20000", "30000", "1000").is_err());
}
