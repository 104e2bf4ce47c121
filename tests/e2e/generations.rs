//! The generations of the API side by side: their paths, and when a server says that it is ready.

use nacos_proto::ResponseError;
use nacos_proto::code;
use nacos_proto::grpc::{ServerCheckRequest, ServerCheckResponse};
use serde_json::{Value, json};

use crate::support::client::{mine, patient, quick};
use crate::support::consumer::{lists, prompt, service};
use crate::support::wait::{eventually, in_time, wait_until};
use crate::support::witness::foreign;
use crate::support::world::{Registry, World, in_our_worlds, unique};

in_our_worlds!(
    g25_each_generation_serves_the_instances_of_all_others,
    g25_each_path_is_served_where_its_generation_has_it_and_nowhere_else,
    k05_a_server_is_ready_when_it_serves_and_not_before,
    k05_a_restart_that_waits_for_readiness_takes_no_instance_from_a_list,
);

/// Register and list, of each generation.
const GENERATIONS: [(&str, &str); 4] = [
    ("/nacos/v1/ns/instance", "/nacos/v1/ns/instance/list"),
    ("/nacos/v2/ns/instance", "/nacos/v2/ns/instance/list"),
    ("/nacos/v3/client/ns/instance", "/nacos/v3/client/ns/instance/list"),
    ("/nacos/v3/admin/ns/instance", "/nacos/v3/admin/ns/instance/list"),
];

/// The ports in a list of any generation.
fn ports(list: &Value) -> Vec<u64> {
    let data = list.get("data").unwrap_or(list);
    let hosts = data.get("hosts").unwrap_or(data).as_array().expect("a list");
    let mut ports: Vec<u64> = hosts.iter().map(|host| host["port"].as_u64().expect("a port")).collect();
    ports.sort_unstable();
    ports
}

async fn g25_each_generation_serves_the_instances_of_all_others(world: World) {
    let registry = world.registry().await;
    let (name, consumer) = (unique("orders"), prompt(&registry));
    let orders = service(&consumer, &name);
    orders.ready().await.expect("the server answers");
    for (port, (register, _)) in (1..).zip(GENERATIONS) {
        let target = format!("{register}?serviceName={name}&ip=10.0.0.1&port={port}");
        let (status, answer) = registry.http("POST", &target).await;
        assert_eq!(status, 200, "{target}: {answer}");
    }
    let native = registry.witness().await;
    native.register(&name, foreign(5)).await;
    for (_, list) in GENERATIONS {
        let all = async || {
            let (status, list) = registry.http("GET", &format!("{list}?serviceName={name}")).await;
            (status == 200 && ports(&list) == [1, 2, 3, 4, 5]).then_some(())
        };
        eventually(&format!("{list} has the instances of all"), all).await;
    }
    native.sees(&name, &[1, 2, 3, 4, 5]).await;
    lists(&orders, &[1, 2, 3, 4, 5]).await;
}

async fn g25_each_path_is_served_where_its_generation_has_it_and_nowhere_else(world: World) {
    let registry = world.registry().await;
    for (_, list) in GENERATIONS {
        let with = format!("{list}?serviceName=orders");
        // The last one knows nothing about services that are not there; it says so in its own words.
        let (status, answer) = registry.http("GET", &with).await;
        assert!(status == 200 || answer["code"].is_i64(), "{with}: {status} {answer}");
        let without = with.strip_prefix("/nacos").expect("it begins with the context");
        let (status, _) = registry.http("GET", without).await;
        assert_eq!(status, 404, "{without} is told at once to be no path of this server");
    }
    // The console of the third generation has no context, those before have one.
    for path in ["/nacos/v1/console/namespaces", "/nacos/v2/console/namespace/list", "/v3/console/core/namespace/list"]
    {
        assert_eq!(registry.http("GET", path).await.0, 200, "{path}");
    }
    for path in ["/v1/console/namespaces", "/v2/console/namespace/list"] {
        assert_eq!(registry.http("GET", path).await.0, 404, "{path}");
    }
}

/// Where each generation asks whether the server is ready.
const READINESS: [&str; 4] = [
    "/nacos/v1/console/health/readiness",
    "/nacos/v2/console/health/readiness",
    "/v3/console/health/readiness",
    "/nacos/v3/admin/core/state/readiness",
];

/// Whether all generations say so; they must agree.
async fn is_ready(registry: &Registry) -> bool {
    let mut said = Vec::new();
    for path in READINESS {
        let (status, answer) = registry.http("GET", path).await;
        said.push(status == 200 && (answer == "OK" || answer["code"] == json!(0)));
        let liveness = path.replace("readiness", "liveness");
        assert_eq!(registry.http("GET", &liveness).await.0, 200, "{liveness}: it lives either way");
    }
    assert!(said.iter().all(|ready| *ready == said[0]), "{said:?}");
    said[0]
}

async fn k05_a_server_is_ready_when_it_serves_and_not_before(world: World) {
    let registry = world.registry().await;
    let witness = registry.witness().await;
    assert!(is_ready(&registry).await, "it has been since it started");
    registry.server().fault().starting(true);
    assert!(!is_ready(&registry).await);
    let check: Result<ServerCheckResponse, _> = witness.call(&ServerCheckRequest::default()).await;
    let not_yet =
        |error: &ResponseError| matches!(error, ResponseError::Refused(f) if f.code() == code::INVALID_SERVER_STATUS);
    assert!(check.as_ref().is_err_and(not_yet), "{check:?}");
    let nacos = registry.config().timeouts(quick()).build().expect("the settings are valid");
    let registration = service(&nacos, "orders").register(mine(1)).expect("it is valid");
    wait_until("it is turned away, again and again", || registry.proxy.accepted() > 2).await;
    assert!(!nacos.status().current().is_connected());
    registry.server().fault().starting(false);
    assert!(is_ready(&registry).await);
    in_time("the registration", registration.confirmed()).await.expect("it is acknowledged");
}

async fn k05_a_restart_that_waits_for_readiness_takes_no_instance_from_a_list(world: World) {
    const PROVIDERS: u16 = 20;
    let mut registry = world.registry().await;
    let name = unique("orders");
    let providers: Vec<_> = (0..PROVIDERS).map(|_| patient(&registry)).collect();
    let register = |(nacos, port)| service(nacos, &name).register(mine(port)).expect("it is valid");
    let registrations: Vec<_> = providers.iter().zip(1..).map(register).collect();
    for registration in &registrations {
        in_time("a registration", registration.confirmed()).await.expect("it is acknowledged");
    }
    let all: Vec<u16> = (1..=PROVIDERS).collect();
    // With its default policy, which is what applications have.
    let consumer = patient(&registry);
    let orders = service(&consumer, &name);
    orders.ready().await.expect("the server answers");
    lists(&orders, &all).await;
    let mut changes = orders.subscribe(nacos_client::Select::all());
    for _ in 0..2 {
        registry.goes_down().await;
        registry.comes_up().await;
        eventually("it is ready", async || is_ready(&registry).await.then_some(())).await;
        let witness = registry.witness().await;
        let expected: Vec<i32> = all.iter().map(|port| i32::from(*port)).collect();
        witness.sees(&name, &expected).await;
        wait_until("the consumer is back, too", || {
            let list = orders.try_snapshot().expect("the client runs").expect("there is a list");
            list.stale_since().is_none() && list.held().is_none()
        })
        .await;
    }
    while let Some(change) = crate::support::consumer::at_hand(&mut changes) {
        assert_eq!(change.snapshot().len(), all.len(), "a list shrank: {change:?}");
    }
}
