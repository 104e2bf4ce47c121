//! Requests and answers of both generations, as recorded from real servers.

use std::collections::HashMap;

use serde_json::json;
use wiremock::{
    Mock, MockServer, Request, ResponseTemplate,
    matchers::{any, method, path},
};

use super::*;
use crate::{ClientConfig, Instance, InstanceKey, ServiceKey};

const V3_STATE: &str = "/nacos/v3/admin/core/state";

fn operator(servers: &[String]) -> Maintain {
    Maintain::new(ClientConfig::builder().servers(servers).namespace("dev").build().expect("a config"))
}

/// A server of 3.x that answers `data` to everything.
async fn modern(data: serde_json::Value) -> (MockServer, Maintain) {
    let server = MockServer::start().await;
    let envelope =
        |data| ResponseTemplate::new(200).set_body_json(json!({ "code": 0, "message": "success", "data": data }));
    Mock::given(path(V3_STATE)).respond_with(envelope(json!({ "version": "3.0.3" }))).mount(&server).await;
    Mock::given(any()).respond_with(envelope(data)).with_priority(9).mount(&server).await;
    let operator = operator(&[server.address().to_string()]);
    (server, operator)
}

/// A server of 1.x or 2.x; nothing but its answers is mounted.
async fn old() -> (MockServer, Maintain) {
    let server = MockServer::start().await;
    let page = json!({ "timestamp": "", "status": 404, "error": "Not Found", "message": "No message available", "path": V3_STATE });
    Mock::given(path(V3_STATE)).respond_with(ResponseTemplate::new(404).set_body_json(page)).mount(&server).await;
    let operator = operator(&[server.address().to_string()]);
    (server, operator)
}

async fn answer(server: &MockServer, verb: &str, at: &str, status: u16, body: &str) {
    let answer = ResponseTemplate::new(status).set_body_string(body);
    Mock::given(method(verb)).and(path(format!("/nacos{at}"))).respond_with(answer).mount(server).await;
}

/// The parameters of the last request.
async fn last(server: &MockServer) -> (String, HashMap<String, String>) {
    let requests: Vec<Request> = server.received_requests().await.expect("requests are kept");
    let last = requests.last().expect("a request");
    (format!("{} {}", last.method, last.url.path()), last.url.query_pairs().into_owned().collect())
}

fn orders() -> ServiceKey {
    ServiceKey::new("G", "orders")
}

#[tokio::test]
async fn v3_is_given_all_of_an_instance_because_it_resets_what_is_not_named() {
    let server = MockServer::start().await;
    let envelope =
        |data| ResponseTemplate::new(200).set_body_json(json!({ "code": 0, "message": "success", "data": data }));
    let detail = json!({ "protectThreshold": 0.0, "clusterMap": { "C": {} }, "ephemeral": true });
    let rows = json!([{ "ip": "10.0.0.1", "port": 80, "weight": 3.0, "enabled": false, "clusterName": "C", "metadata": { "a": "b" } }]);
    for (at, data) in [
        (V3_STATE, json!({})),
        ("/nacos/v3/admin/ns/service", detail),
        ("/nacos/v3/admin/ns/instance/list", rows),
        ("/nacos/v3/admin/ns/instance/partial", json!("ok")),
    ] {
        Mock::given(path(at)).respond_with(envelope(data)).mount(&server).await;
    }
    let operator = operator(&[server.address().to_string()]);
    let key = InstanceKey::new(("10.0.0.1", 80), "C");
    operator.update_instance(orders(), &key, &InstanceChange::default().weight(0.5)).await.expect("a change");
    let (call, parameters) = last(&server).await;
    assert_eq!(call, "PUT /nacos/v3/admin/ns/instance/partial");
    let expected = [
        ("namespaceId", "dev"),
        ("groupName", "G"),
        ("serviceName", "orders"),
        ("clusterName", "C"),
        ("ip", "10.0.0.1"),
        ("port", "80"),
        ("weight", "0.5"),
        ("enabled", "false"),
        ("ephemeral", "true"),
    ];
    let expected: HashMap<String, String> = expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    assert_eq!(parameters, expected);
}

#[tokio::test]
async fn v1_is_given_only_what_changes_and_a_grouped_name() {
    let (server, operator) = old().await;
    answer(&server, "GET", "/v1/ns/service", 200, r#"{"clusters":[{"name":"DEFAULT"}],"protectThreshold":0.0}"#).await;
    let rows = r#"{"count":1,"list":[{"ip":"10.0.0.1","port":80,"weight":1.0,"clusterName":"DEFAULT"}]}"#;
    answer(&server, "GET", "/v1/ns/catalog/instances", 200, rows).await;
    answer(&server, "PATCH", "/v1/ns/instance", 200, "ok").await;
    let key = InstanceKey::new(("10.0.0.1", 80), "");
    operator.update_instance(orders(), &key, &InstanceChange::default().enabled(false)).await.expect("a change");
    let (call, parameters) = last(&server).await;
    assert_eq!(call, "PATCH /nacos/v1/ns/instance");
    assert_eq!((parameters["serviceName"].as_str(), parameters["enabled"].as_str()), ("G@@orders", "false"));
    assert!(!parameters.contains_key("weight") && !parameters.contains_key("metadata"), "{parameters:?}");
    let other = InstanceKey::new(("10.0.0.2", 80), "");
    let unknown = operator.update_instance(orders(), &other, &InstanceChange::default().enabled(false)).await;
    assert!(matches!(unknown, Err(MaintainError::NotFound { .. })), "{unknown:?}");
}

/// 1.4.8 answers 500 where 2.x answers 400 and 404.
#[tokio::test]
async fn a_missing_service_is_told_from_a_failing_server_without_reading_texts() {
    for (status, text) in [(500, "caused: service G@@orders is not found!;"), (400, "service not found"), (404, "no")] {
        let (server, operator) = old().await;
        answer(&server, "GET", "/v1/ns/service", status, text).await;
        answer(&server, "GET", "/v1/ns/catalog/services", 200, r#"{"count":0,"serviceList":[]}"#).await;
        let missing = operator.service(orders()).await;
        assert!(matches!(missing, Err(MaintainError::NotFound { .. })), "{status}: {missing:?}");
    }
    let (server, operator) = old().await;
    answer(&server, "GET", "/v1/ns/service", 500, "caused: anything;").await;
    let row = r#"{"count":1,"serviceList":[{"name":"orders","groupName":"G","ipCount":1}]}"#;
    answer(&server, "GET", "/v1/ns/catalog/services", 200, row).await;
    let failing = operator.service(orders()).await;
    assert!(matches!(&failing, Err(MaintainError::Server(refusal)) if refusal.message == "anything"), "{failing:?}");
}

#[tokio::test]
async fn the_rest_of_a_service_is_sent_again_with_its_threshold() {
    let (server, operator) = old().await;
    let detail = r#"{"protectThreshold":0.0,"metadata":{"owner":"shop"},"clusters":[],
        "selector":{"type":"label","expression":"CONSUMER.label.z = PROVIDER.label.z","labels":["z"],"contextType":"CMDB"}}"#;
    answer(&server, "GET", "/v1/ns/service", 200, detail).await;
    answer(&server, "PUT", "/v1/ns/service", 200, "ok").await;
    operator.set_protect_threshold(orders(), 0.5).await.expect("a change");
    let (_, parameters) = last(&server).await;
    assert_eq!(
        (parameters["protectThreshold"].as_str(), parameters["metadata"].as_str()),
        ("0.5", r#"{"owner":"shop"}"#)
    );
    let selector = &parameters["selector"];
    // v1 decodes it once more.
    assert!(selector.starts_with("%7B") && selector.contains("expression") && !selector.contains("CMDB"), "{selector}");
    for share in [-0.1, 1.1, f64::NAN] {
        let refused = operator.set_protect_threshold(orders(), share).await;
        assert!(matches!(refused, Err(MaintainError::Invalid(_))), "{share}");
    }
}

#[tokio::test]
async fn each_kind_of_refusal_has_its_error() {
    let cases = [
        (403, r#"{"status":403,"message":"user not found!"}"#, "LoginNeeded"),
        (401, "", "LoginNeeded"),
        (410, r#"{"status":410,"message":"{\"code\":40000}"}"#, "Unsupported"),
        (501, r#"{"status":501,"message":"no such api"}"#, "Unsupported"),
        (404, "", "Unsupported"),
        (400, "Param 'x' is illegal", "Refused"),
        (503, "server is DOWNnow", "Server"),
        (302, "", "Protocol"),
        (200, "", "Protocol"),
        (200, r#"{"code":30000,"message":"not ready","data":null}"#, "Refused"),
        (404, "no page", "Unsupported"),
        (400, r#"{"code":22002,"message":"exists","data":null}"#, "Exists"),
    ];
    for (status, body, kind) in cases {
        let (server, operator) = old().await;
        answer(&server, "GET", "/v1/console/namespaces", status, body).await;
        let error = operator.namespaces().await.expect_err("a refusal");
        assert!(format!("{error:?}").starts_with(kind), "{status} {body}: {error:?}");
        assert_eq!(error.is_retryable(), kind == "Server", "{error:?}");
    }
}

#[tokio::test]
async fn the_next_server_is_asked_when_one_is_away_and_all_are_named_when_all_are() {
    let (server, _) = modern(json!([{ "namespace": "", "namespaceShowName": "public" }])).await;
    let operator_of_both = operator(&["127.0.0.1:1".to_owned(), server.address().to_string()]);
    let namespaces = operator_of_both.namespaces().await.expect("an answer");
    assert_eq!((namespaces[0].id.as_str(), namespaces[0].name.as_str()), ("public", "public"));
    let away = operator(&["127.0.0.1:1".to_owned(), "127.0.0.2:1".to_owned()]).namespaces().await.expect_err("nobody");
    assert!(
        matches!(&away, MaintainError::Unreachable { reason } if reason.contains("127.0.0.1:1") && reason.contains("127.0.0.2:1"))
    );
}

#[tokio::test]
async fn what_does_not_exist_is_told_by_the_codes_of_v3() {
    for (code, status) in [(21_008, 400), (20_004, 404)] {
        let server = MockServer::start().await;
        let state = ResponseTemplate::new(200).set_body_json(json!({ "code": 0, "data": { "version": "3.0.3" } }));
        Mock::given(path(V3_STATE)).respond_with(state).mount(&server).await;
        let absent = json!({ "code": code, "message": "service not exist", "data": "service not found" });
        Mock::given(any()).respond_with(ResponseTemplate::new(status).set_body_json(absent)).mount(&server).await;
        let missing = operator(&[server.address().to_string()]).service(orders()).await;
        assert!(matches!(missing, Err(MaintainError::NotFound { .. })), "{missing:?}");
    }
}

#[tokio::test]
async fn pages_are_read_to_the_end_and_repetitions_left_out() {
    let (server, operator) = old().await;
    let page = |number: u32, names: &[&str]| {
        let rows: Vec<_> = names.iter().map(|name| json!({ "name": name, "groupName": "G", "ipCount": "2" })).collect();
        let answer = ResponseTemplate::new(200).set_body_json(json!({ "count": 4, "serviceList": rows }));
        Mock::given(path("/nacos/v1/ns/catalog/services"))
            .and(wiremock::matchers::query_param("pageNo", number.to_string()))
            .respond_with(answer)
            .mount(&server)
    };
    page(1, &["b", "a"]).await;
    page(2, &["b", "c"]).await;
    let services = operator.services(&ServiceFilter::all()).await.expect("services");
    let names: Vec<&str> = services.iter().map(|service| service.key.name()).collect();
    assert_eq!((names, services[0].instances), (vec!["a", "b", "c"], 2));
}

#[tokio::test]
async fn nothing_invalid_is_sent() {
    let (server, operator) = old().await;
    let key = InstanceKey::new(("10.0.0.1", 80), "");
    for change in [
        InstanceChange::default(),
        InstanceChange::default().weight(f64::NAN),
        InstanceChange::default().weight(10_001.0),
        InstanceChange::default().metadata([("k".to_owned(), "v".repeat(1_025))].into()),
    ] {
        let refused = operator.update_instance(orders(), &key, &change).await;
        assert!(matches!(refused, Err(MaintainError::Invalid(_))), "{change:?}");
    }
    assert!(matches!(operator.service(ServiceKey::new("G", " ")).await, Err(MaintainError::Invalid(_))));
    assert!(matches!(operator.delete_namespace("a b").await, Err(MaintainError::Invalid(_))));
    let sent = server.received_requests().await.expect("requests are kept");
    assert!(sent.is_empty(), "{sent:?}");
    let instance = Instance::new(("10.0.0.1", 80));
    assert!(matches!(
        operator.deregister(ServiceKey::new("G@@", "s"), &instance).await,
        Err(MaintainError::Invalid(_))
    ));
}
