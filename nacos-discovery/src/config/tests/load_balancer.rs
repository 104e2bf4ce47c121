//! What `spring.cloud.loadbalancer` says.

use std::time::Duration;

use nacos_client::ServiceKey;

use super::{error, read, yaml};
use crate::settings::BalanceSettings;
use crate::{Discovery, DiscoveryConfig, ForwardedHeaders, RetrySettings, ServiceSettings};

fn of(settings: &BalanceSettings, service: &str) -> std::sync::Arc<ServiceSettings> {
    settings.service(&ServiceKey::new("ORDER_GROUP", service))
}

#[test]
fn what_it_says_of_all_services_and_of_one_is_what_the_balancer_does() {
    let (config, notes) = yaml(
        "
spring.cloud:
  nacos.discovery.group: ORDER_GROUP
  loadbalancer:
    zone: z1
    service-discovery.timeout: 2s
    x-forwarded.enabled: true
    retry:
      maxRetriesOnNextServiceInstance: 2
      retryable-status-codes: [500, 429]
      backoff: {enabled: true, min-backoff: 10ms}
    clients:
      stock-service:
        zone: z2
        retry: {retry-on-all-operations: true, retryable-status-codes: '404'}
      Price_Service:
        retry.enabled: false
",
    )
    .unwrap();
    assert_eq!(notes, [""; 0]);
    let settings = config.balance_settings();

    let other = of(&settings, "order-service");
    let statuses = |codes: &[u16]| {
        let codes = codes.iter().map(|code| http::StatusCode::from_u16(*code).unwrap());
        codes.fold(RetrySettings::default().with_attempts(3), RetrySettings::with_status)
    };
    let pause = (Duration::from_millis(10), Duration::from_millis(250));
    assert_eq!(other.retry(), &statuses(&[500, 429]).with_backoff(pause.0, pause.1));
    assert_eq!((other.selection().zone(), other.first_list_wait()), (Some("z1"), Duration::from_secs(2)));
    assert_eq!(other.requests().forwarded_headers, ForwardedHeaders::HostAndProto);

    let stock = of(&settings, "stock-service");
    assert_eq!(stock.retry(), &statuses(&[404]).all_methods().with_backoff(pause.0, pause.1));
    assert_eq!((stock.selection().zone(), stock.first_list_wait()), (Some("z2"), Duration::from_secs(2)));
    assert_eq!(of(&settings, "Price_Service").retry(), &RetrySettings::off());

    let discovery = Discovery::new(config).unwrap();
    assert_eq!(of(discovery.directory().settings(), "stock-service").retry(), stock.retry());

    // What code says of a service comes on top.
    let more =
        settings.with_service(("ORDER_GROUP", "stock-service"), |stock| stock.with_first_list_wait(Duration::ZERO));
    assert_eq!(of(&more, "stock-service").selection().zone(), Some("z2"));
}

#[test]
fn without_a_word_of_it_the_defaults_hold() {
    let (config, notes) = yaml("spring.application.name: orders").unwrap();
    let (ours, default) = (config.balance_settings(), BalanceSettings::default());
    let shown = |settings: &BalanceSettings| format!("{:?}", of(settings, "orders"));
    assert_eq!((shown(&ours), notes), (shown(&default), Vec::new()));
}

#[test]
fn variables_count_more_in_both_spellings() {
    for name in ["RETRY_MAXRETRIESONNEXTSERVICEINSTANCE", "RETRY_MAX_RETRIES_ON_NEXT_SERVICE_INSTANCE"] {
        let text = "spring.cloud.loadbalancer.retry.max-retries-on-next-service-instance: 7";
        let builder = DiscoveryConfig::builder().yaml_str(text).unwrap();
        let (config, notes) = read(builder.variables([(format!("SPRING_CLOUD_LOADBALANCER_{name}"), "4")])).unwrap();
        assert_eq!(of(&config.balance_settings(), "orders").retry(), &RetrySettings::default().with_attempts(5));
        assert_eq!(notes, [""; 0]);
    }
}

#[test]
fn what_is_not_read_is_told_in_one_line_and_nothing_of_it_is_looked_into() {
    let (config, notes) = yaml(
        "
spring.cloud.loadbalancer:
  enabled: true
  nacos.enabled: true
  cache: {ttl: '${NOBODY_KNOWS}', enabled: true}
  hint.default: gray
  configurations: zone-preference
  retry.avoid-previous-instance: false
  sticky-session.add-service-instance-cookie: ''
  clients.orders.health-check.interval: 5s
",
    )
    .unwrap();
    assert_eq!(format!("{:?}", config.load_balancer), format!("{:?}", DiscoveryConfig::default().load_balancer));
    let [note] = &*notes else { panic!("{notes:?}") };
    assert!(note.starts_with("warn: "), "{note}");
    for key in [
        "cache.ttl",
        "cache.enabled",
        "hint.default",
        "configurations",
        "retry.avoid-previous-instance",
        "clients.orders.health-check.interval",
    ] {
        assert!(note.contains(key), "{key}: {note}");
    }
    assert!(!note.contains("nacos.enabled") && !note.contains("sticky-session"), "{note}");
}

#[test]
fn a_value_that_is_none_is_refused_with_its_place() {
    for (key, value) in [
        ("retry.enabled", "perhaps"),
        ("retry.max-retries-on-next-service-instance", "-1"),
        ("clients.orders.retry.retryable-status-codes", "503, 7"),
        ("service-discovery.timeout", "soon"),
    ] {
        let message = error(yaml(&format!("\nspring.cloud.loadbalancer.{key}: '{value}'")));
        assert!(message.contains("line 2") && message.contains(key), "{message}");
    }
}
