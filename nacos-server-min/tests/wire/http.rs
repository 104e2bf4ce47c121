//! The HTTP port.

use std::net::SocketAddr;

use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use nacos_server_min::Server;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::support::{Peer, instance, ports};

async fn server() -> Server {
    Server::builder().start().await.expect("free ports")
}

/// Status and body of one request; `form` becomes an url-encoded body.
pub(crate) async fn call(addr: SocketAddr, method: &str, path: &str, form: Option<&str>) -> (u16, String) {
    let encoded = [("content-type", "application/x-www-form-urlencoded;charset=UTF-8")];
    let headers = if form.is_some() { &encoded[..] } else { &[] };
    let (status, _, body) = exchange(addr, method, path, headers, form.unwrap_or_default()).await;
    (status, body)
}

/// Status, content type and body of one request with these headers.
pub(crate) async fn exchange(
    addr: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (u16, Option<String>, String) {
    let tcp = TcpStream::connect(addr).await.expect("the server listens");
    let (mut send, connection) = hyper::client::conn::http1::handshake(TokioIo::new(tcp)).await.expect("HTTP/1");
    let connection = tokio::spawn(async move { drop(connection.await) });
    let mut request = Request::builder().method(method).uri(path).header("host", "server");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = Full::new(bytes::Bytes::from(body.to_owned()));
    let response = send.send_request(request.body(body).expect("a request")).await.expect("an answer");
    let status = response.status().as_u16();
    let content_type = response.headers().get("content-type").map(|v| v.to_str().expect("a text").to_owned());
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    connection.abort();
    (status, content_type, String::from_utf8(body.to_vec()).expect("UTF-8"))
}

const INSTANCE: &str = "/nacos/v1/ns/instance";

#[tokio::test]
async fn register_list_and_deregister_by_query_and_by_form() {
    let server = server().await;
    let addr = server.http_addr();
    let ok = (200, "ok".to_owned());
    let by_query = "serviceName=orders&ip=10.0.0.1&port=8080&weight=2&metadata=%7B%22a%22%3A1%7D&clusterName=c1";
    assert_eq!(call(addr, "POST", &format!("{INSTANCE}?{by_query}"), None).await, ok);
    assert_eq!(
        call(addr, "POST", INSTANCE, Some("serviceName=G%40%40orders&ip=10.0.0.2&port=1&metadata=a=1,b=2")).await,
        ok
    );
    let (status, list) = call(addr, "GET", &format!("{INSTANCE}/list?serviceName=orders&clusters=c1"), None).await;
    let list: Value = serde_json::from_str(&list).expect("JSON");
    assert_eq!((status, &list["name"], &list["clusters"]), (200, &json!("DEFAULT_GROUP@@orders"), &json!("c1")));
    assert_eq!((&list["groupName"], ports(&list)), (&json!("DEFAULT_GROUP"), vec![8080]));
    assert_eq!((&list["hosts"][0]["weight"], &list["hosts"][0]["metadata"]), (&json!(2.0), &json!({"a": "1"})));
    let grouped = format!("{INSTANCE}/list?serviceName=orders&groupName=G");
    let (_, list) = call(addr, "GET", &grouped, None).await;
    assert_eq!(ports(&serde_json::from_str(&list).expect("JSON")), [1], "the group of a grouped name counts");
    let form = "serviceName=orders&ip=10.0.0.1&port=8080";
    assert_eq!(call(addr, "DELETE", INSTANCE, Some(form)).await, ok);
    assert_eq!(call(addr, "DELETE", &format!("{INSTANCE}?{form}"), None).await, ok, "nothing to remove is fine too");
    let (_, list) = call(addr, "GET", &format!("{INSTANCE}/list?serviceName=orders"), None).await;
    assert_eq!(ports(&serde_json::from_str(&list).expect("JSON")), [0u64; 0]);
}

#[tokio::test]
async fn both_ports_show_the_same_services() {
    let server = server().await;
    let (peer, mut stream) = Peer::naming(server.grpc_addr()).await;
    peer.subscribe("orders", "").await;
    stream.acked_push().await;
    peer.register("orders", instance("10.0.0.1", 1)).await;
    stream.acked_push().await;
    for (namespace, seen) in [
        ("", vec![1, 2]),
        ("&namespaceId=", vec![1, 2]),
        ("&namespaceId=public", vec![1, 2]),
        ("&namespaceId=dev", vec![]),
    ] {
        let form = format!("serviceName=orders&ip=10.0.0.2&port=2{}", if seen.is_empty() { "" } else { namespace });
        call(server.http_addr(), "POST", INSTANCE, Some(&form)).await;
        let (_, list) =
            call(server.http_addr(), "GET", &format!("{INSTANCE}/list?serviceName=orders{namespace}"), None).await;
        assert_eq!(ports(&serde_json::from_str(&list).expect("JSON")), seen, "{namespace}");
    }
    assert_eq!(ports(&stream.acked_push().await), [1, 2], "subscribers hear of it");
    let (status, text) = call(
        server.http_addr(),
        "POST",
        &format!("{INSTANCE}?serviceName=orders&ip=10.0.0.3&port=3&ephemeral=false"),
        None,
    )
    .await;
    let expected = "errCode: 400, errMsg: Current service DEFAULT_GROUP@@orders is ephemeral service, can't register persistent instance. ";
    assert_eq!((status, text.as_str()), (400, expected));
}

#[tokio::test]
async fn refusals_have_their_texts() {
    let server = server().await;
    let cases = [
        ("", "Param 'serviceName' is required."),
        ("serviceName=&ip=1.1.1.1&port=1", "Param 'serviceName' is required."),
        (
            "serviceName=%20&ip=1.1.1.1&port=1",
            "Param 'serviceName' is illegal, it should be format as 'groupName@@serviceName'",
        ),
        ("serviceName=a&port=1", "Param 'ip' is required."),
        ("serviceName=a&ip=1.1.1.1", "Param 'port' is required."),
        (
            "serviceName=a&ip=1.1.1.1&port=65536",
            "Param 'port' is illegal, the value should be between 0 and 65535.\r\n",
        ),
        ("serviceName=a&ip=1.1.1.1&port=abc", "Param 'port' is illegal, the value should be between 0 and 65535.\r\n"),
        ("serviceName=a&ip=1.1.1.1&port=1&weight=abc", "For input string: \"abc\""),
        (
            "serviceName=a&ip=1.1.1.1&port=1&weight=NaN",
            "instance format invalid: The weights range from 0.0 to 10000.0",
        ),
        (
            "serviceName=a&ip=1.1.1.1&port=1&weight=10001",
            "instance format invalid: The weights range from 0.0 to 10000.0",
        ),
        (
            "serviceName=a&ip=1.1.1.1&port=1&clusterName=a_b",
            "Instance 'clusterName' should be characters with only 0-9a-zA-Z-. (current: a_b)",
        ),
        (
            "serviceName=a&ip=1.1.1.1&port=1&clusterName=a.b",
            "Param 'cluster' is illegal, illegal characters should not appear in the param.\r\n",
        ),
        (
            "serviceName=g%40%40b%40%40c&ip=1.1.1.1&port=1",
            "Param 'serviceName' is illegal, illegal characters should not appear in the param.\r\n",
        ),
        (
            "serviceName=a&ip=1.1.1.1&port=1&metadata=novalue",
            "Param 'metadata' is illegal, metadata format incorrect:novalue",
        ),
        (
            "serviceName=a&ip=1.1.1.1&port=1&namespaceId=a%2Fb",
            "Param 'namespaceId/tenant' is illegal, illegal characters should not appear in the param.\r\n",
        ),
    ];
    for (form, text) in cases {
        let (status, body) = call(server.http_addr(), "POST", INSTANCE, Some(form)).await;
        assert_eq!((status, body.as_str()), (400, text), "{form}");
    }
}

#[tokio::test]
async fn unknown_paths_and_methods() {
    let server = server().await;
    for (method, path, status) in [
        ("GET", "/nacos/v1/ns/xyz", 501),
        ("POST", "/nacos/v1/ns/instance/list", 501),
        ("HEAD", "/nacos/v1/ns/instance/list", 501),
        ("OPTIONS", "/nacos/v1/ns/operator/metrics", 501),
        ("GET", "/nacos/xyz", 404),
        ("GET", "/", 404),
    ] {
        let (seen, body) = call(server.http_addr(), method, path, None).await;
        assert_eq!(seen, status, "{method} {path}");
        assert!(method == "HEAD" || body.contains(path));
    }
}

#[tokio::test]
async fn probes_of_all_generations_state_and_metrics() {
    let server = server().await;
    let addr = server.http_addr();
    let probes = [
        ("/nacos/v1/console/health", 500),
        ("/nacos/v2/console/health", 200),
        ("/v3/console/health", 500),
        ("/nacos/v3/admin/core/state", 200),
    ];
    let ready = async |path: &str| {
        let (status, body) = call(addr, "GET", &format!("{path}/readiness"), None).await;
        let text = body == "OK" || serde_json::from_str::<Value>(&body).is_ok_and(|v| v["code"] == 0);
        (status, text)
    };
    for (path, _) in probes {
        assert_eq!(ready(path).await, (200, true), "{path}");
        assert_eq!(call(addr, "GET", &format!("{path}/liveness"), None).await.0, 200);
    }
    server.fault().starting(true);
    for (path, status) in probes {
        assert_eq!(ready(path).await, (status, false), "{path}");
        assert_eq!(call(addr, "GET", &format!("{path}/liveness"), None).await.0, 200);
    }
    assert_eq!(call(addr, "GET", "/nacos/v1/ns/operator/metrics", None).await.0, 503);
    server.fault().starting(false);

    let (peer, mut stream) = Peer::naming(server.grpc_addr()).await;
    peer.register("orders", instance("10.0.0.1", 1)).await;
    peer.subscribe("orders", "").await;
    stream.acked_push().await;
    call(addr, "POST", &format!("{INSTANCE}?serviceName=web&ip=10.0.0.1&port=1"), None).await;
    let metrics = async |path: &str| {
        let (status, body) = call(addr, "GET", path, None).await;
        assert_eq!(status, 200);
        serde_json::from_str::<Value>(&body).expect("JSON")
    };
    assert_eq!(metrics("/nacos/v1/ns/operator/metrics").await, json!({"status": "UP"}));
    let all = metrics("/nacos/v1/ns/ops/metrics?onlyStatus=false").await;
    let numbers =
        ["serviceCount", "instanceCount", "subscribeCount", "connectionBasedClientCount", "ephemeralIpPortClientCount"];
    assert_eq!(numbers.map(|name| all[name].as_u64()), [Some(2), Some(2), Some(1), Some(1), Some(1)]);
    assert_eq!(metrics("/nacos/v2/ns/operator/metrics").await["data"], json!({"status": "UP"}));
    assert_eq!(metrics("/nacos/v1/console/server/state").await["version"], "2.5.1");
}
