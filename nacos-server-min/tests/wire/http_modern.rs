//! The second and third generation of the HTTP API, namespaces, and the calls about connections.

use std::net::SocketAddr;

use nacos_server_min::Server;
use serde_json::{Value, json};

use crate::http::call;
use crate::support::{Peer, instance, ports};

async fn server() -> Server {
    Server::builder().start().await.expect("free ports")
}

/// Status and JSON of one call.
async fn ask(addr: SocketAddr, method: &str, path: &str) -> (u16, Value) {
    let (status, body) = call(addr, method, &format!("/nacos{path}"), None).await;
    (status, serde_json::from_str(&body).unwrap_or(Value::String(body)))
}

/// The data of a success.
async fn data(addr: SocketAddr, method: &str, path: &str) -> Value {
    let (status, mut envelope) = ask(addr, method, path).await;
    assert_eq!((status, &envelope["code"], &envelope["message"]), (200, &json!(0), &json!("success")), "{path}");
    envelope["data"].take()
}

/// Status, code and detail of a refusal.
async fn refusal(addr: SocketAddr, method: &str, path: &str) -> (u16, i64, Value) {
    let (status, mut envelope) = ask(addr, method, path).await;
    (status, envelope["code"].as_i64().unwrap_or_default(), envelope["data"].take())
}

const ONE: &str = "serviceName=orders&ip=10.0.0.1&port=80";

#[tokio::test]
async fn both_generations_register_change_list_and_deregister() {
    let server = server().await;
    let addr = server.http_addr();
    let (peer, mut stream) = Peer::naming(server.grpc_addr()).await;
    peer.subscribe("orders", "").await;
    stream.acked_push().await;
    let generations = [("/v2/ns", "/v2/ns"), ("/v3/client/ns", "/v3/admin/ns"), ("/v3/admin/ns", "/v3/admin/ns")];
    for (port, (write, read)) in (80..).zip(generations) {
        // What an operator says of an address outlives its registration, so each has its own.
        let one = format!("instance?serviceName=orders&ip=10.0.0.1&port={port}");
        assert_eq!(data(addr, "POST", &format!("{write}/{one}&weight=2&metadata=%7B%22a%22%3A1%7D")).await, "ok");
        assert_eq!(ports(&stream.acked_push().await), [port], "subscribers hear of it");
        let detail = data(addr, "GET", &format!("{read}/{one}")).await;
        assert_eq!((&detail["weight"], &detail["metadata"]), (&json!(2.0), &json!({"a": "1"})));
        assert_eq!(detail.get("serviceName"), Some(&json!("DEFAULT_GROUP@@orders")));
        assert_eq!(data(addr, "PUT", &format!("{read}/{one}&weight=5")).await, "ok");
        assert_eq!(stream.acked_push().await["hosts"][0]["weight"], 5.0);
        assert_eq!(data(addr, "DELETE", &format!("{write}/{one}")).await, "ok");
        assert_eq!(ports(&stream.acked_push().await), [0u64; 0]);
    }
    let missing = refusal(addr, "GET", &format!("/v2/ns/instance?{ONE}")).await;
    let text = "no ips found for cluster DEFAULT in service DEFAULT_GROUP@@orders";
    assert_eq!(missing, (404, 20_004, json!(text)));
}

#[tokio::test]
async fn lists_have_the_form_of_their_generation() {
    let server = server().await;
    let addr = server.http_addr();
    for more in ["ip=10.0.0.1", "ip=10.0.0.2&healthy=false", "ip=10.0.0.3&enabled=false", "ip=10.0.0.4&clusterName=c1"]
    {
        data(addr, "POST", &format!("/v2/ns/instance?serviceName=s&port=80&{more}")).await;
    }
    let seen = async |path: &str| {
        let mut list = data(addr, "GET", path).await;
        let hosts = if list.is_array() { list } else { list["hosts"].take() };
        let ip = |host: &Value| host["ip"].as_str().unwrap_or_default().trim_start_matches("10.0.0.").to_owned();
        hosts.as_array().expect("a list").iter().map(ip).collect::<String>()
    };
    assert_eq!(seen("/v2/ns/instance/list?serviceName=s").await, "124");
    assert_eq!(seen("/v2/ns/instance/list?serviceName=s&healthyOnly=true").await, "14");
    assert_eq!(seen("/v2/ns/instance/list?serviceName=s&clusterName=c1").await, "4");
    assert_eq!(seen("/v3/client/ns/instance/list?serviceName=s").await, "12", "one cluster unless more are named");
    assert_eq!(seen("/v3/client/ns/instance/list?serviceName=s&clusterName=DEFAULT,c1&healthyOnly=true").await, "124");
    assert_eq!(seen("/v3/admin/ns/instance/list?serviceName=s").await, "123", "the disabled one too");
    assert_eq!(seen("/v3/admin/ns/instance/list?serviceName=s&healthyOnly=true").await, "13");
    assert_eq!(seen("/v3/client/ns/instance/list?serviceName=never-there").await, "");
    assert_eq!(refusal(addr, "GET", "/v3/admin/ns/instance/list?serviceName=never-there").await.0, 404);
}

#[tokio::test]
async fn refusals_come_in_the_envelope_except_those_of_the_filter() {
    let server = server().await;
    let addr = server.http_addr();
    let base = "/v2/ns/instance?serviceName=s&ip=1.1.1.1";
    for (path, expected) in [
        (
            "/v2/ns/instance?ip=1.1.1.1&port=1",
            (400, 10_000, "Required parameter 'serviceName' type String is not present"),
        ),
        (base, (400, 10_000, "Required parameter 'port' type Integer is not present")),
        (
            &format!("{base}&port=1&weight=20000"),
            (400, 21_001, "instance format invalid: The weights range from 0.0 to 10000.0"),
        ),
        (
            &format!("{base}&port=1&clusterName=a_b"),
            (400, 21_004, "Instance 'clusterName' should be characters with only 0-9a-zA-Z-. (current: a_b)"),
        ),
    ] {
        let (status, code, text) = expected;
        assert_eq!(refusal(addr, "POST", path).await, (status, code, json!(text)), "{path}");
    }
    for wrong in ["weight=abc", "enabled=abc"] {
        let (status, code, detail) = refusal(addr, "POST", &format!("{base}&port=1&{wrong}")).await;
        assert_eq!((status, code, detail), (500, 30_000, Value::Null), "{wrong}");
    }
    let filtered = "Param 'port' is illegal, the value should be between 0 and 65535.\r\n";
    assert_eq!(ask(addr, "POST", &format!("{base}&port=abc")).await, (400, json!(filtered)));
    let illegal = "Param 'metadata' is illegal, metadata format incorrect:zzz";
    let path = format!("{base}&port=1&metadata=zzz");
    assert_eq!(refusal(addr, "POST", &path).await, (400, 20_002, json!(illegal)));
    for (method, path, name) in [
        ("PUT", "/v2/ns/instance/metadata/batch?serviceName=s&metadata=a%3Db&instances=%5B%7B", "instances"),
        ("POST", "/v2/ns/service?serviceName=s&selector=%7B", "selector"),
        (
            "PUT",
            "/v3/admin/ns/cluster?serviceName=s&clusterName=c&checkPort=1&useInstancePort4Check=true&healthChecker=%7B",
            "healthChecker",
        ),
    ] {
        let (status, _, detail) = refusal(addr, method, path).await;
        let text = detail.as_str().unwrap_or_default();
        assert!(status == 400 && text.starts_with(&format!("Param '{name}' is illegal")), "{path}: {text}");
    }
}

#[tokio::test]
async fn services_are_created_shown_and_deleted() {
    let server = server().await;
    let addr = server.http_addr();
    let path = "/v3/admin/ns/service?serviceName=s";
    let created = format!("{path}&protectThreshold=0.3&ephemeral=true&metadata=%7B%22a%22%3A%22b%22%7D");
    assert_eq!(data(addr, "POST", &created).await, "ok");
    let again = "specified service DEFAULT_GROUP@@s already exists!";
    assert_eq!(refusal(addr, "POST", path).await, (400, 21_007, json!(again)));
    let detail = data(addr, "GET", path).await;
    assert_eq!((&detail["protectThreshold"], &detail["metadata"]), (&json!(0.3), &json!({"a": "b"})));
    assert_eq!((&detail["namespaceId"], &detail["ephemeral"]), (&json!("public"), &json!(true)));
    data(addr, "POST", "/v3/admin/ns/instance?serviceName=s&ip=10.0.0.1&port=80").await;
    let page = data(addr, "GET", "/v3/admin/ns/service/list?serviceNameParam=s").await;
    assert_eq!((&page["totalCount"], &page["pagesAvailable"]), (&json!(1), &json!(1)));
    assert_eq!((&page["pageItems"][0]["ipCount"], &page["pageItems"][0]["triggerFlag"]), (&json!(1), &json!("false")));
    assert_eq!(data(addr, "GET", "/v2/ns/service/list").await, json!({"count": 1, "services": ["s"]}));
    assert_eq!(refusal(addr, "DELETE", path).await.1, 21_009, "it has an instance");
    data(addr, "DELETE", "/v3/admin/ns/instance?serviceName=s&ip=10.0.0.1&port=80").await;
    assert_eq!(data(addr, "DELETE", path).await, "ok");
    let gone = "service not found, namespace: public, serviceName: DEFAULT_GROUP@@s";
    assert_eq!(refusal(addr, "GET", path).await, (400, 21_008, json!(gone)));
}

#[tokio::test]
async fn a_light_beat_says_whether_there_is_such_an_instance() {
    let server = server().await;
    let addr = server.http_addr();
    let beat = format!("/v3/client/ns/instance?{ONE}&heartBeat=true");
    let unknown = json!({"code": 21_003, "message": "instance not found", "data": null});
    assert_eq!(ask(addr, "POST", &beat).await, (200, unknown));
    assert_eq!(data(addr, "GET", "/v3/client/ns/instance/list?serviceName=orders").await, json!([]), "nothing is made");
    data(addr, "POST", &format!("/v3/client/ns/instance?{ONE}")).await;
    assert_eq!(data(addr, "POST", &beat).await, "ok");
}

#[tokio::test]
async fn namespaces_are_the_same_ones_on_all_paths() {
    let server = server().await;
    let addr = server.http_addr();
    assert_eq!(data(addr, "POST", "/v3/admin/core/namespace?namespaceId=dev&namespaceName=Dev").await, true);
    assert_eq!(refusal(addr, "POST", "/v2/console/namespace?namespaceId=dev&namespaceName=x").await.1, 22_000);
    assert_eq!(refusal(addr, "POST", "/v3/admin/core/namespace?namespaceId=dev&namespaceName=x").await.1, 22_002);
    let v1 = "/v1/console/namespaces";
    assert_eq!(ask(addr, "POST", &format!("{v1}?customNamespaceId=dev&namespaceName=x")).await, (200, json!(false)));
    let changed = format!("{v1}?namespace=dev&namespaceShowName=Changed&namespaceDesc=d");
    assert_eq!(ask(addr, "PUT", &changed).await, (200, json!(true)));
    let all = ask(addr, "GET", v1).await.1;
    let name = |at: usize| (all["data"][at]["namespace"].clone(), all["data"][at]["namespaceShowName"].clone());
    assert_eq!((name(0), name(1)), ((json!(""), json!("public")), (json!("dev"), json!("Changed"))));
    let one = data(addr, "GET", "/v2/console/namespace?namespaceId=dev").await;
    assert_eq!((&one["namespaceDesc"], &one["type"]), (&json!("d"), &json!(2)));
    let (status, body) = call(addr, "GET", "/v3/console/core/namespace/exist?customNamespaceId=dev", None).await;
    assert_eq!((status, body.contains("\"data\":true")), (200, true));
    assert_eq!(data(addr, "DELETE", "/v3/admin/core/namespace?namespaceId=dev").await, true);
    assert_eq!(data(addr, "GET", "/v3/admin/core/namespace/check?namespaceId=dev").await, 0);
    let unknown = (404, 22_001, json!("namespaceId [ dev ] not exist"));
    assert_eq!(refusal(addr, "GET", "/v2/console/namespace?namespaceId=dev").await, unknown);
    data(addr, "POST", &format!("/v2/ns/instance?namespaceId=dev&{ONE}")).await;
    let there = data(addr, "GET", &format!("/v2/ns/instance?namespaceId=dev&{ONE}")).await;
    assert_eq!(there["ip"], "10.0.0.1", "naming needs no declaration");
}

#[tokio::test]
async fn an_operator_sees_connections_and_sends_clients_away() {
    let server = server().await;
    let addr = server.http_addr();
    let (peer, mut stream) = Peer::naming(server.grpc_addr()).await;
    peer.register("orders", instance("10.0.0.1", 1)).await;
    let id = server.connections().first().expect("the peer").id.clone();
    let current = data(addr, "GET", "/v3/admin/core/loader/current").await;
    assert_eq!(current[&id]["metaInfo"]["connectionId"], json!(id));
    let clients = data(addr, "GET", "/v2/ns/client/list").await;
    assert_eq!(clients, json!([id]));
    let client = data(addr, "GET", &format!("/v3/admin/ns/client?clientId={id}")).await;
    assert_eq!((&client["clientType"], &client["ephemeral"]), (&json!("connection"), &json!(true)));
    let publishers = "/v3/admin/ns/client/service/publisher/list?serviceName=orders";
    let expected = json!([{"clientId": id, "ip": "10.0.0.1", "port": 1, "clusterName": "DEFAULT"}]);
    assert_eq!(data(addr, "GET", publishers).await, expected);
    let target = format!("/v2/core/loader/reloadClient?connectionId={id}&redirectAddress=127.0.0.1%3A8848");
    assert_eq!(ask(addr, "GET", &target).await, (200, json!("success")));
    let (kind, reset) = stream.next().await.expect("a request");
    assert_eq!((kind.as_str(), &reset["serverPort"]), ("ConnectResetRequest", &json!("8848")));
    let nobody = ask(addr, "GET", "/v2/core/loader/reloadClient?connectionId=nobody").await;
    assert_eq!(nobody, (200, json!("success")), "one that is not there is asked in vain");
}

#[tokio::test]
async fn the_console_of_3_x_asks_under_paths_of_its_own() {
    let server = server().await;
    let addr = server.http_addr();
    let console = async |method: &str, path: &str| {
        let (status, body) = call(addr, method, &format!("/v3/console/ns{path}"), None).await;
        let mut envelope: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!((status, &envelope["code"]), (200, &json!(0)), "{path}: {body}");
        envelope["data"].take()
    };
    assert_eq!(console("POST", "/service?serviceName=orders&ephemeral=true").await, "ok");
    assert_eq!(data(addr, "POST", &format!("/v3/client/ns/instance?{ONE}&clusterName=c1")).await, "ok");
    assert_eq!(console("PUT", &format!("/instance?{ONE}&clusterName=c1&weight=3")).await, "ok");
    let checker = "clusterName=c1&checkPort=80&useInstancePort4Check=true&healthChecker=%7B%22type%22%3A%22NONE%22%7D";
    assert_eq!(console("PUT", &format!("/service/cluster?serviceName=orders&{checker}")).await, "ok");
    let page = console("GET", "/instance/list?serviceName=orders&pageNo=1&pageSize=10").await;
    assert_eq!((&page["totalCount"], &page["pageItems"][0]["weight"]), (&json!(1), &json!(3.0)));
    let other = console("GET", "/instance/list?serviceName=orders&clusterName=c2").await;
    assert_eq!((&other["totalCount"], &other["pageItems"]), (&json!(0), &json!([])));
    let detail = console("GET", "/service?serviceName=orders").await;
    assert_eq!(detail["clusterMap"]["c1"]["healthChecker"]["type"], "NONE");
    assert_eq!(console("GET", "/service/list?pageNo=1&pageSize=10").await["pageItems"][0]["name"], "orders");
    assert_eq!(call(addr, "GET", "/nacos/v3/console/ns/service/list", None).await.0, 404, "it has no context path");
}
