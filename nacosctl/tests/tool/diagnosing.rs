//! `doctor`.

use nacos_client::Instance;
use serde_json::Value;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers};

use super::support::{World, ctl, register};

/// Name and verdict of each check.
fn verdicts(report: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let checks = report["checks"].as_array().expect("checks");
    checks.iter().map(|check| (text(&check["name"]), text(&check["verdict"]))).collect()
}

fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().expect("checks");
    checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no check {name}: {report}"))
}

#[tokio::test]
async fn a_healthy_registry_passes_every_check_and_keeps_nothing_of_it() {
    let world = World::new().await;
    let _one = register(&world.client(), ("", "orders"), Instance::new(("10.0.0.1", 80))).await;
    let report = world.ctl(&["doctor", "orders", "--json"]).await.ended(0).json();
    let names = ["http", "auth", "clock", "grpc", "protocol", "namespace", "push", "udp", "service"];
    let verdicts = verdicts(&report);
    assert_eq!(verdicts.iter().map(|(name, _)| name.as_str()).collect::<Vec<&str>>(), names);
    // How long something took is a matter of the machine.
    let timed = |name: &str, verdict: &str| ["clock", "push"].contains(&name) && verdict == "warning";
    assert!(verdicts.iter().all(|(name, verdict)| verdict == "ok" || timed(name, verdict)), "{report}");
    let left = world.ctl(&["services", "--json"]).await.ended(0).json();
    let instances = left.as_array().expect("a list").iter().filter_map(|service| service["instances"].as_u64());
    assert_eq!(instances.sum::<u64>(), 1, "{left}");
    let text = world.ctl(&["doctor"]).await.ended(0).out;
    assert!(text.contains("grpc") && !text.contains("FAILED"), "{text}");
}

#[tokio::test]
async fn where_nobody_listens_the_doctor_says_what_to_look_at() {
    let report = ctl("127.0.0.1:1", &["doctor", "--json", "--timeout", "500ms"]).await.ended(1).json();
    assert_eq!(verdicts(&report), [("http".to_owned(), "failed".to_owned())]);
    assert!(check(&report, "http")["remedy"].as_str().is_some_and(|text| text.contains("8848")), "{report}");
}

#[tokio::test]
async fn a_closed_grpc_port_is_found() {
    let world = World::new().await;
    let server = format!("{}?grpc_port=1", world.server.http_addr());
    let report = ctl(&server, &["doctor", "--json", "--timeout", "1s"]).await.json();
    assert_eq!(check(&report, "grpc")["verdict"], "warning", "{report}");
}

#[tokio::test]
async fn a_service_without_instances_is_looked_for_everywhere() {
    for world in [World::new().await, World::old().await] {
        world.ctl(&["namespaces", "create", "dev-id", "--name", "dev"]).await.ended(0);
        let (here, there) = (world.client(), world.client_in("dev-id"));
        let _group = register(&here, ("payments", "orders"), Instance::new(("10.0.0.1", 80))).await;
        let _namespace = register(&there, ("", "orders"), Instance::new(("10.0.0.2", 80))).await;
        let report = world.ctl(&["doctor", "orders", "--json"]).await.ended(1).json();
        assert_eq!(check(&report, "service")["verdict"], "failed");
        let seen: Vec<&str> =
            report["checks"].as_array().expect("checks").iter().filter_map(|c| c["seen"].as_str()).collect();
        assert!(seen.iter().any(|text| text.starts_with("group payments has orders with 1 instance")), "{seen:?}");
        assert!(
            seen.iter().any(|text| text.starts_with("namespace dev-id has orders in group DEFAULT_GROUP")),
            "{seen:?}"
        );

        let _letters = register(&there, ("", "Billing"), Instance::new(("10.0.0.3", 80))).await;
        let report = world.ctl(&["doctor", "billing", "--json"]).await.ended(1).json();
        let seen = check(&report, "elsewhere")["seen"].as_str().expect("a text").to_owned();
        assert!(seen.contains("has Billing in group DEFAULT_GROUP with 1 instance"), "{seen}");

        let named = world.ctl(&["doctor", "--json", "--namespace", "dev"]).await.ended(1).json();
        let remedy = check(&named, "namespace")["remedy"].as_str().expect("a remedy").to_owned();
        assert_eq!(remedy, "clients need the id: --namespace dev-id");
    }
}

#[tokio::test]
async fn instances_that_consumers_do_not_get_are_named() {
    let world = World::new().await;
    let _one = register(&world.client(), ("", "orders"), Instance::new(("10.0.0.1", 80))).await;
    world.ctl(&["drain", "orders", "10.0.0.1:80"]).await.ended(0);
    let report = world.ctl(&["doctor", "orders", "--json"]).await.ended(1).json();
    let seen = check(&report, "service")["seen"].as_str().expect("a text").to_owned();
    assert!(seen.contains("disabled ones: 10.0.0.1:80"), "{seen}");
}

#[tokio::test]
async fn a_server_that_lets_only_known_users_in_is_told() {
    let server = MockServer::start().await;
    let up = ResponseTemplate::new(200).set_body_json(serde_json::json!({ "status": "UP" }));
    Mock::given(matchers::path("/nacos/v1/ns/operator/metrics")).respond_with(up).mount(&server).await;
    let page = serde_json::json!({ "status": 403, "error": "Forbidden", "message": "token invalid!" });
    Mock::given(matchers::any()).respond_with(ResponseTemplate::new(403).set_body_json(page)).mount(&server).await;
    let report = ctl(&server.address().to_string(), &["doctor", "--json", "--timeout", "500ms"]).await.ended(1).json();
    assert_eq!(check(&report, "auth")["verdict"], "failed", "{report}");
    assert!(check(&report, "auth")["seen"].as_str().is_some_and(|text| text.contains("token invalid!")));

    let closed = MockServer::start().await;
    Mock::given(matchers::any()).respond_with(ResponseTemplate::new(401)).mount(&closed).await;
    let report = ctl(&closed.address().to_string(), &["doctor", "--json"]).await.ended(1).json();
    let remedy = check(&report, "http")["remedy"].as_str().expect("a remedy").to_owned();
    assert!(remedy.contains("set --username"), "{report}");
}
