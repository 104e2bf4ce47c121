//! Answers recorded from real servers, as the tool shows them.

use nacos_tests::vectors::{self, Exchange};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers};

use super::support::ctl;

/// A server that gives the recorded answers of these calls, and 404 to others.
async fn replaying(recorded: &[Exchange], calls: &[&str]) -> MockServer {
    let server = MockServer::start().await;
    for call in calls {
        let exchange = recorded.iter().find(|exchange| exchange.call == *call).expect("a recorded call");
        let reply = exchange.reply();
        let answer = ResponseTemplate::new(reply.status).set_body_string(reply.body);
        let mock = Mock::given(matchers::method(exchange.method.as_str())).and(matchers::path(&exchange.path));
        mock.respond_with(answer).mount(&server).await;
    }
    server
}

#[tokio::test]
async fn answers_of_nacos_3_0_3_are_understood() {
    let calls = [
        "v3/admin-core-state",
        "v3/admin-service-list",
        "v3/admin-service-get",
        "v3/admin-subscribers",
        "v3/admin-core-namespace-list",
    ];
    let server = replaying(&vectors::http_3_0_3(), &calls).await;
    let address = server.address().to_string();
    let services = ctl(&address, &["services", "--json"]).await.ended(0).json();
    assert_eq!(services.as_array().map(Vec::len), Some(5), "{services}");
    let shown = ctl(&address, &["show", "v3svc", "--json"]).await.ended(0).json();
    assert_eq!((&shown["protectThreshold"], &shown["ephemeral"]), (&0.4.into(), &true.into()));
    assert!(shown["selector"].is_null(), "its kind stands twice in the answer: {shown}");
    let namespaces = ctl(&address, &["ns", "ls", "--json"]).await.ended(0).json();
    assert_eq!(namespaces[0]["id"], "public");
    let unknown = replaying(&vectors::http_3_0_3(), &["v3/admin-core-state", "v3/admin-service-get-unknown"]).await;
    ctl(&unknown.address().to_string(), &["show", "never-there"]).await.ended(5);
}

#[tokio::test]
async fn answers_of_nacos_2_5_1_are_understood() {
    let calls = [
        "catalog/services",
        "catalog/instances",
        "cluster/service-get-with-instance",
        "service/subscribers-one",
        "console/ns-list-after",
        "console/v1-server-state",
        "fresh/metrics",
    ];
    let server = replaying(&vectors::http_2_5_1(), &calls).await;
    let address = server.address().to_string();
    let services = ctl(&address, &["services", "--json"]).await.ended(0).json();
    assert_eq!((&services[0]["name"], &services[0]["instances"]), (&"cat".into(), &2.into()));
    let instances = ctl(&address, &["instances", "cat", "--all", "--json"]).await.ended(0).json();
    assert_eq!(instances.as_array().map(Vec::len), Some(2), "{instances}");
    assert_eq!((&instances[1]["enabled"], &instances[0]["metadata"]["a"]), (&false.into(), &"b".into()));
    let shown = ctl(&address, &["show", "sub-svc", "--json"]).await.ended(0).json();
    assert_eq!(shown["subscribers"][0]["agent"], "Nacos-Java-Client:v1.4.8");
    let namespaces = ctl(&address, &["ns", "ls", "--json"]).await.ended(0).json();
    assert!(namespaces.as_array().is_some_and(|all| all.iter().any(|one| one["id"] == "dev")), "{namespaces}");
    let report = ctl(&address, &["doctor", "--json", "--timeout", "500ms"]).await.json();
    let seen = report["checks"][0]["seen"].as_str().unwrap_or_default().to_owned();
    assert!(seen.contains("is Nacos 2.5.1, standalone; operators use its v1 interface"), "{seen}");
}
