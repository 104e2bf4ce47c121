//! What is measured of calls and instances.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use http::Response;
use http_body_util::BodyExt;
use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};
use nacos_client::ServiceKey;
use nacos_discovery::adapters::hyper::{HyperBalanced, HyperSettings};
use nacos_discovery::metrics::{InstanceGauges, MetricsHooks};
use nacos_discovery::route::{Destination, Miss, RouteDocument, RouteRules, Rule, Subject, Test};
use nacos_discovery::{BalanceError, BalanceLayer, ServiceSettings, TransportFailure};
use nacos_tests::wait::eventually;
use tower_layer::Layer;

use crate::balancing_support::{self, ORDERS, Strict, at, listing, send};
use crate::support::*;
use crate::world::World;

/// Keeps all there is: by name and labels a number, or how many were recorded and their sum.
#[derive(Debug, Default)]
struct Numbers {
    all: Mutex<BTreeMap<String, Arc<Number>>>,
    described: Mutex<BTreeMap<String, Option<Unit>>>,
}

#[derive(Debug, Default)]
struct Number(Mutex<(u64, f64)>);

impl Number {
    fn add(&self, value: f64) {
        let mut now = self.0.lock().expect("nothing panics under it");
        *now = (now.0 + 1, now.1 + value);
    }
}

impl CounterFn for Number {
    fn increment(&self, value: u64) {
        self.add(value as f64);
    }

    fn absolute(&self, value: u64) {
        *self.0.lock().expect("nothing panics under it") = (1, value as f64);
    }
}

impl GaugeFn for Number {
    fn increment(&self, value: f64) {
        self.add(value);
    }

    fn decrement(&self, value: f64) {
        self.add(-value);
    }

    fn set(&self, value: f64) {
        *self.0.lock().expect("nothing panics under it") = (1, value);
    }
}

impl HistogramFn for Number {
    fn record(&self, value: f64) {
        self.add(value);
    }
}

impl Numbers {
    fn number(&self, key: &Key) -> Arc<Number> {
        let mut labels: Vec<_> = key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        labels.sort();
        let name = format!("{}{{{}}}", key.name(), labels.join(","));
        Arc::clone(self.all.lock().expect("nothing panics under it").entry(name).or_default())
    }

    fn describe(&self, name: &KeyName, unit: Option<Unit>) {
        self.described.lock().expect("nothing panics under it").insert(name.as_str().to_owned(), unit);
    }

    /// What is recorded under names that begin so: how often, and the sum.
    fn of(&self, name: &str) -> BTreeMap<String, (u64, f64)> {
        let all = self.all.lock().expect("nothing panics under it");
        let found = all.iter().filter(|(key, _)| key.starts_with(&format!("{name}{{")));
        found.map(|(key, number)| (key.clone(), *number.0.lock().expect("nothing panics under it"))).collect()
    }

    /// The only number under that name.
    fn only(&self, name: &str) -> f64 {
        let all = self.of(name);
        assert_eq!(all.len(), 1, "{all:?}");
        all.into_values().next().expect("there is one").1
    }
}

impl Recorder for Numbers {
    fn describe_counter(&self, name: KeyName, unit: Option<Unit>, _: SharedString) {
        self.describe(&name, unit);
    }

    fn describe_gauge(&self, name: KeyName, unit: Option<Unit>, _: SharedString) {
        self.describe(&name, unit);
    }

    fn describe_histogram(&self, name: KeyName, unit: Option<Unit>, _: SharedString) {
        self.describe(&name, unit);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.number(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.number(key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.number(key))
    }
}

fn app() -> Router {
    Router::new()
        .route("/orders/{id}", get(|| async { "an order" }))
        .route("/bad", get(|| async { StatusCode::BAD_GATEWAY }))
        .route("/silent", get(|| async { pending::<()>().await }))
}

fn client(world: &World, hooks: MetricsHooks) -> HyperBalanced<String> {
    HyperBalanced::new(&HyperSettings::default(), &BalanceLayer::new(&world.discovery).hooks(hooks))
}

async fn call(client: &HyperBalanced<String>, uri: &str) {
    let answer = client.get(uri.parse().expect("a URI")).await.expect("an answer");
    answer.into_body().collect().await.expect("a whole body");
}

/// LoadBalancerTags and MicrometerStatsLoadBalancerLifecycle of Spring Cloud Commons.
#[tokio::test]
async fn calls_are_measured_under_the_names_and_labels_of_spring() {
    let numbers = Numbers::default();
    let _recorder = metrics::set_default_local_recorder(&numbers);
    let world = World::of(SERVICE, app()).await;
    let client = client(&world, MetricsHooks::new());
    let id = format!("127.0.0.1#{}#DEFAULT#DEFAULT_GROUP@@{SERVICE}", world.address.port());
    let instance = format!(
        "serviceId={SERVICE},serviceInstance.host=127.0.0.1,serviceInstance.instanceId={id},serviceInstance.port={}",
        world.address.port()
    );

    let open = client.get("lb://orders/orders/7?secret=x".parse().unwrap()).await.unwrap();
    let active = format!("loadbalancer.requests.active{{group=DEFAULT_GROUP,{instance}}}");
    assert_eq!(numbers.of("loadbalancer.requests.active"), BTreeMap::from([(active, (1, 1.0))]));
    open.into_body().collect().await.unwrap();
    assert_eq!(numbers.only("loadbalancer.requests.active"), 0.0, "its body has ended");
    call(&client, "lb://orders/bad").await;
    let success = |outcome: &str, status: u16| {
        format!(
            "loadbalancer.requests.success{{group=DEFAULT_GROUP,method=GET,outcome={outcome},{instance},status={status},uri=UNKNOWN}}"
        )
    };
    let measured = numbers.of("loadbalancer.requests.success");
    let keys: Vec<_> = measured.keys().cloned().collect();
    assert_eq!(keys, [success("SERVER_ERROR", 502), success("SUCCESS", 200)]);
    assert!(measured.values().all(|(count, seconds)| *count == 1 && (0.0..30.0).contains(seconds)), "{measured:?}");
}

#[tokio::test]
async fn calls_that_fail_find_nobody_or_are_given_up_are_told_apart() {
    let numbers = Numbers::default();
    let _recorder = metrics::set_default_local_recorder(&numbers);
    let world = World::of(SERVICE, app()).await;
    let client = client(&world, MetricsHooks::new());

    let unknown = client.get("lb://nobody/".parse().unwrap()).await.unwrap_err();
    assert!(matches!(unknown, BalanceError::NoInstance(_)), "{unknown}");
    let discarded: Vec<_> = numbers.of("loadbalancer.requests.discard").into_iter().collect();
    let labels = "exception=NoneRegistered,group=DEFAULT_GROUP,method=GET,serviceId=nobody,uri=UNKNOWN";
    assert_eq!(discarded, [(format!("loadbalancer.requests.discard{{{labels}}}"), (1, 1.0))]);

    let uri = "lb://orders/silent".parse().unwrap();
    tokio::select! {
        _ = client.get(uri) => panic!("it never answers"),
        () = async { while numbers.of("loadbalancer.requests.active").is_empty() { tokio::task::yield_now().await } } => {}
    }
    assert_eq!(
        (numbers.only("loadbalancer.requests.cancelled"), numbers.only("loadbalancer.requests.active")),
        (1.0, 0.0)
    );

    world.serving.abort();
    eventually("a refusal", async || {
        let refused = HyperBalanced::<String>::new(
            &HyperSettings::default(),
            &BalanceLayer::new(&world.discovery).hooks(MetricsHooks::new()),
        );
        let error = refused.get("lb://orders/orders/7".parse().unwrap()).await.err()?;
        (error.failure() == Some(TransportFailure::Connect)).then_some(())
    })
    .await;
    let failed = numbers.of("loadbalancer.requests.failed");
    let refused: Vec<_> = failed.iter().filter(|(key, _)| key.contains("{exception=Connect,")).collect();
    assert!(refused.len() == 1 && refused[0].1.0 == 1, "{failed:?}");
    assert_eq!(numbers.only("loadbalancer.requests.active"), 0.0);
}

#[tokio::test]
async fn a_path_is_a_label_only_where_it_is_asked_for_and_a_query_never() {
    let numbers = Numbers::default();
    let _recorder = metrics::set_default_local_recorder(&numbers);
    let world = World::of(SERVICE, app()).await;
    call(&client(&world, MetricsHooks::new().with_uri()), "lb://orders/orders/7?secret=x").await;
    let measured = numbers.of("loadbalancer.requests.success");
    assert!(measured.keys().all(|key| key.ends_with(",uri=/orders/7}")), "{measured:?}");
    assert!(!format!("{:?}", numbers.all).contains("secret"));
}

#[tokio::test]
async fn instances_are_shown_as_they_are_and_as_nothing_once_they_have_left() {
    let numbers = Numbers::default();
    let _recorder = metrics::set_default_local_recorder(&numbers);
    nacos_discovery::metrics::describe();
    assert_eq!(
        numbers.described.lock().expect("nothing panics under it")["loadbalancer.requests.success"],
        Some(Unit::Seconds)
    );
    let world = World::of(SERVICE, app()).await;
    let gauges = InstanceGauges::new(&world.discovery);
    gauges.record();
    let show = |name: &str| numbers.only(&format!("loadbalancer.instance.{name}"));
    assert_eq!((show("in_flight"), show("weight"), show("ejected")), (0.0, 1.0, 0.0));

    let client = client(&world, MetricsHooks::new());
    let open = client.get("lb://orders/orders/7".parse().unwrap()).await.unwrap();
    world.registered.update(|registration| registration.instance.weight = 5.0).await.unwrap();
    eventually("the new weight", async || {
        gauges.record();
        (show("weight") == 5.0).then_some(())
    })
    .await;
    assert_eq!(show("in_flight"), 1.0);
    open.into_body().collect().await.unwrap();
    gauges.record();
    assert!(show("in_flight") == 0.0 && show("latency") > 0.0);

    world.registered.update(|registration| registration.service = ServiceKey::new("", "elsewhere")).await.unwrap();
    eventually("nothing", async || {
        gauges.record();
        (show("weight") == 0.0).then_some(())
    })
    .await;
    assert_eq!(show("latency"), 0.0);
}

#[tokio::test]
async fn routed_calls_are_counted_by_rule_and_result_and_by_nothing_that_a_request_says() {
    let numbers = Numbers::default();
    let _recorder = metrics::set_default_local_recorder(&numbers);
    let versions = at([1000, 2000]).map(|one| if one.port == 2000 { one.metadata("version", "v2") } else { one });
    let directory = listing(ServiceSettings::default(), versions);
    let client = Strict::new(1, async |_| Ok(Response::new(String::new())));
    let service = BalanceLayer::new(&directory).hooks(MetricsHooks::new()).layer(client);
    let ask = async |version: &str| {
        let mut request = balancing_support::get("/");
        request.headers_mut().insert("x-version", version.parse().expect("a value"));
        drop(send(&service, request).await);
    };
    ask("v2").await;
    assert!(numbers.of("loadbalancer.requests.routed").is_empty(), "the service has no rules");
    let rule = |name: &str, miss| {
        let from = Destination::LabelFrom { key: "version".to_owned(), subject: Subject::header("x-version") };
        Rule::new(name).when_header("x-version", Test::prefix("v")).to(from).or(miss)
    };
    let set = |rule: Rule| {
        let rules = RouteRules::new().with_rule(rule);
        directory.set_routes(RouteDocument::new().with_service(ORDERS, rules)).expect("rules");
    };
    set(rule("strict", Miss::Fail));
    for version in ["v2", "v2", "v3", "none"] {
        ask(version).await;
    }
    set(rule("kind", Miss::Baseline));
    ask("v4").await;
    let counted = |rule: &str, result: &str, count: u64| {
        let labels = format!("group=DEFAULT_GROUP,result={result},rule={rule},serviceId={ORDERS}");
        (format!("loadbalancer.requests.routed{{{labels}}}"), (count, count as f64))
    };
    let expected = [("UNKNOWN", "hit", 1), ("kind", "miss", 1), ("strict", "failed", 1), ("strict", "hit", 2)];
    let expected = expected.map(|(rule, result, count)| counted(rule, result, count));
    assert_eq!(numbers.of("loadbalancer.requests.routed"), BTreeMap::from(expected));
    let all = format!("{:?}", numbers.all);
    assert!(["v2", "v3", "v4"].iter().all(|version| !all.contains(version)), "{all}");
}
