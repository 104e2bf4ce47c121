//! The first generation of the HTTP API, beyond registering.

use std::net::SocketAddr;
use std::time::Duration;

use nacos_server_min::{Server, Settings};
use serde_json::{Value, json};

use crate::http::call;
use crate::support::{Peer, eventually, instance, ports};

async fn server() -> Server {
    Server::builder().start().await.expect("free ports")
}

/// Status and text of one call under `/v1/ns`.
async fn ask(addr: SocketAddr, method: &str, path: &str) -> (u16, String) {
    call(addr, method, &format!("/nacos/v1/ns{path}"), None).await
}

/// The JSON of a success.
async fn json_of(addr: SocketAddr, path: &str) -> Value {
    let (status, body) = ask(addr, "GET", path).await;
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).expect("JSON")
}

async fn ok(addr: SocketAddr, method: &str, path: &str) {
    assert_eq!(ask(addr, method, path).await, (200, "ok".to_owned()), "{method} {path}");
}

async fn refused(addr: SocketAddr, method: &str, path: &str, status: u16, text: &str) {
    assert_eq!(ask(addr, method, path).await, (status, text.to_owned()), "{method} {path}");
}

#[tokio::test]
async fn what_an_operator_says_wins_and_subscribers_hear_of_it() {
    let server = server().await;
    let addr = server.http_addr();
    let (peer, mut stream) = Peer::naming(server.grpc_addr()).await;
    peer.subscribe("orders", "").await;
    stream.acked_push().await;
    peer.register("orders", instance("10.0.0.1", 80)).await;
    stream.acked_push().await;
    let one = "serviceName=orders&ip=10.0.0.1&port=80";
    ok(addr, "PUT", &format!("/instance?{one}&weight=7&metadata=v%3D2")).await;
    let host = &stream.acked_push().await["hosts"][0];
    assert_eq!((&host["weight"], &host["metadata"]["v"]), (&json!(7.0), &json!("2")));
    ok(addr, "PATCH", &format!("/instance?{one}&enabled=false")).await;
    assert_eq!(ports(&stream.acked_push().await), [0u64; 0]);
    let detail = json_of(addr, &format!("/instance?{one}")).await;
    assert_eq!((&detail["weight"], &detail["metadata"]["v"]), (&json!(7.0), &json!("2")), "the rest stays");
    peer.register("orders", instance("10.0.0.1", 80)).await;
    assert_eq!(ports(&stream.acked_push().await), [0u64; 0], "registering again does not help");
    ok(addr, "PATCH", &format!("/instance?{one}&enabled=true")).await;
    stream.acked_push().await;
    let batch = "/instance/metadata/batch?serviceName=orders&metadata=%7B%22v%22%3A%223%22%7D";
    let updated = json!({ "updated": ["10.0.0.1:80:unknown:DEFAULT:ephemeral"] }).to_string();
    assert_eq!(ask(addr, "PUT", batch).await, (200, updated.clone()));
    assert_eq!(stream.acked_push().await["hosts"][0]["metadata"]["v"], "3");
    assert_eq!(ask(addr, "DELETE", batch).await, (200, updated));
    assert_eq!(stream.acked_push().await["hosts"][0]["metadata"].get("v"), None);
    refused(addr, "PATCH", "/instance?serviceName=orders&ip=10.0.0.9&port=80", 404, "no matched ip found!").await;
    let text = "instance format invalid: The weights range from 0.0 to 10000.0";
    refused(addr, "PATCH", &format!("/instance?{one}&weight=20000"), 400, text).await;
}

#[tokio::test]
async fn a_list_of_no_instances_means_all_and_one_of_none_that_can_be_read_means_none() {
    let server = server().await;
    let addr = server.http_addr();
    for last in 1..=2 {
        ok(addr, "POST", &format!("/instance?serviceName=orders&ip=10.0.0.{last}&port=80")).await;
    }
    let metadata = "serviceName=orders&metadata=%7B%22v%22%3A%223%22%7D";
    for (path, enveloped) in [("v1/ns", false), ("v2/ns", true), ("v3/admin/ns", true)] {
        for (instances, count) in
            [("", 2), ("&instances=", 2), ("&instances=%5B%5D", 2), ("&instances=%5B%7B%7D%5D", 0)]
        {
            let batch = format!("/nacos/{path}/instance/metadata/batch?{metadata}{instances}");
            let (status, body) = call(addr, "PUT", &batch, None).await;
            let answer: Value = serde_json::from_str(&body).expect("JSON");
            let updated = if enveloped { &answer["data"]["updated"] } else { &answer["updated"] };
            assert_eq!((status, updated.as_array().map(Vec::len)), (200, Some(count)), "{batch}");
        }
    }
}

#[tokio::test]
async fn what_an_operator_said_goes_with_the_instance() {
    let mut settings = Settings::default();
    settings.instance_metadata_after = Duration::from_secs(1);
    let server = Server::builder().settings(settings).start().await.expect("free ports");
    let addr = server.http_addr();
    let one = "/instance?serviceName=orders&ip=10.0.0.1&port=80";
    ok(addr, "POST", one).await;
    ok(addr, "PUT", &format!("{one}&weight=7")).await;
    ok(addr, "DELETE", one).await;
    eventually("the instance has been gone for long", async || server.counters().overrides_forgotten == 1).await;
    ok(addr, "POST", one).await;
    assert_eq!(json_of(addr, one).await["weight"], 1.0);
}

#[tokio::test]
async fn a_threshold_set_by_http_protects_lists_of_both_ports() {
    let server = server().await;
    let addr = server.http_addr();
    let (peer, mut stream) = Peer::naming(server.grpc_addr()).await;
    peer.subscribe("orders", "").await;
    stream.acked_push().await;
    let mut sick = instance("10.0.0.1", 80);
    sick["healthy"] = json!(false);
    peer.register("orders", sick).await;
    assert_eq!(stream.acked_push().await["reachProtectionThreshold"], false);
    ok(addr, "PUT", "/service?serviceName=orders&protectThreshold=0.5").await;
    let lists = [
        stream.acked_push().await,
        peer.query("orders").await.body["serviceInfo"].clone(),
        json_of(addr, "/instance/list?serviceName=orders").await,
    ];
    for list in lists {
        let shown = (&list["reachProtectionThreshold"], &list["hosts"][0]["healthy"]);
        assert_eq!(shown, (&json!(true), &json!(true)), "{list}");
    }
    assert_eq!(json_of(addr, "/instance?serviceName=orders&ip=10.0.0.1&port=80").await["healthy"], false);
    let services = "/catalog/services?pageNo=1&pageSize=9";
    assert_eq!(json_of(addr, services).await["serviceList"][0]["triggerFlag"], "true");
    ok(addr, "PUT", "/service?serviceName=orders&protectThreshold=0.5&metadata=protect%3Doff").await;
    assert_eq!(stream.acked_push().await["hosts"][0]["healthy"], false);
    assert_eq!(json_of(addr, services).await["serviceList"][0]["triggerFlag"], "false");
}

#[tokio::test]
async fn a_service_is_created_shown_changed_and_deleted() {
    let server = server().await;
    let addr = server.http_addr();
    let selector =
        "%7B%22type%22%3A%22label%22%2C%22expression%22%3A%22CONSUMER.label.zone%20%3D%20PROVIDER.label.zone%22%7D";
    ok(
        addr,
        "POST",
        &format!("/service?serviceName=g%40%40made&protectThreshold=0.3&metadata=k%3Dv&selector={selector}"),
    )
    .await;
    refused(addr, "POST", "/service?serviceName=g%40%40made", 400, "specified service g@@made already exists!").await;
    let detail = json_of(addr, "/service?serviceName=made&groupName=g").await;
    let shown = json!({
        "namespaceId": "public", "groupName": "g", "name": "made", "protectThreshold": 0.3, "metadata": {"k": "v"},
        "selector": {"type": "label", "expression": "CONSUMER.label.zone = PROVIDER.label.zone", "labels": ["zone"],
            "contextType": "CMDB"},
        "clusters": [],
    });
    assert_eq!(detail, shown);
    let text =
        "errCode: 400, errMsg: Current service g@@made is persistent service, can't register ephemeral instance. ";
    refused(addr, "POST", "/instance?serviceName=g%40%40made&ip=10.0.0.1&port=1", 400, text).await;
    let cluster = "/cluster?serviceName=g%40%40made&clusterName=c1&checkPort=81&useInstancePort4Check=false";
    ok(addr, "PUT", &format!("{cluster}&healthChecker=%7B%22type%22%3A%22NONE%22%7D")).await;
    let one = "serviceName=g%40%40made&ip=10.0.0.1&port=1&clusterName=c1";
    ok(addr, "POST", &format!("/instance?{one}&ephemeral=false")).await;
    let shown = json!([{ "name": "c1", "healthChecker": {"type": "NONE"}, "metadata": {} }]);
    assert_eq!(json_of(addr, "/service?serviceName=g%40%40made").await["clusters"], shown);
    ok(addr, "PUT", &format!("/health?{one}&healthy=false")).await;
    assert_eq!(json_of(addr, &format!("/instance?{one}")).await["healthy"], false, "the operator's word counts");
    let text = "health check is still working, service: g@@made, cluster: DEFAULT";
    refused(addr, "PUT", "/health?serviceName=g%40%40made&ip=10.0.0.1&port=1&healthy=true", 400, text).await;
    let text = "Service g@@made is not empty, can't be delete. Please unregister instance first";
    refused(addr, "DELETE", "/service?serviceName=g%40%40made", 400, text).await;
    ok(addr, "DELETE", &format!("/instance?{one}&ephemeral=false")).await;
    ok(addr, "DELETE", "/service?serviceName=g%40%40made").await;
    refused(addr, "DELETE", "/service?serviceName=g%40%40made", 400, "service g@@made not found!").await;
    for broken in ["selector=%7B", "metadata=zzz"] {
        let (status, text) = ask(addr, "POST", &format!("/service?serviceName=x&{broken}")).await;
        let name = broken.split('=').next().expect("a name");
        assert!(status == 400 && text.contains(&format!("'{name}'")), "{status} {text}");
    }
}

#[tokio::test]
async fn services_and_subscribers_are_found() {
    let server = server().await;
    let addr = server.http_addr();
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    peer.subscribe("orders", "c1").await;
    for (service, cluster) in [("orders", "c1"), ("g2%40%40stock", "c2")] {
        ok(addr, "POST", &format!("/instance?serviceName={service}&ip=10.0.0.1&port=1&clusterName={cluster}")).await;
    }
    let names = json_of(addr, "/service/names?expr=st.ck").await;
    let found = json!({"public": ["g2@@stock"]});
    assert_eq!(names, json!({ "META-INF/services": found, "services": found, "count": 1 }));
    assert_eq!(ask(addr, "GET", "/service/names?expr=%5B").await.0, 400);
    assert_eq!(json_of(addr, "/service/list?pageNo=1&pageSize=9").await, json!({ "count": 1, "doms": ["orders"] }));
    let text = "fromIndex(0) > toIndex(-1)";
    refused(addr, "GET", "/service/list?pageNo=1&pageSize=-1", 400, text).await;
    let found = json_of(addr, "/service/subscribers?serviceName=ord").await;
    assert_eq!(
        (&found["count"], &found["subscribers"][0]["serviceName"]),
        (&json!(1), &json!("DEFAULT_GROUP@@orders"))
    );
    assert_eq!((&found["subscribers"][0]["cluster"], &found["subscribers"][0]["port"]), (&json!("c1"), &json!(0)));
    let catalog = json_of(addr, "/catalog/instances?serviceName=orders&clusterName=c1&pageNo=1&pageSize=5").await;
    assert_eq!((&catalog["count"], &catalog["list"][0]["ip"]), (&json!(1), &json!("10.0.0.1")));
    let text = "cluster c9 is not found!";
    refused(addr, "GET", "/catalog/instances?serviceName=orders&clusterName=c9&pageNo=1&pageSize=5", 404, text).await;
    let all = json_of(addr, "/catalog/services?pageNo=1&pageSize=9&serviceNameParam=stock&withInstances=true").await;
    assert_eq!(all[0]["clusterMap"]["c2"]["hosts"][0]["valid"], true);
}

#[tokio::test]
async fn switches_close_paths_and_the_server() {
    let server = server().await;
    let addr = server.http_addr();
    let turn = async |entry: &str, value: &str| {
        ask(addr, "PUT", &format!("/operator/switches?entry={entry}&value={value}")).await
    };
    assert_eq!(turn("limitedUrlMap", "%2Fnacos%2Fv1%2Fns%2Fcatalog%3A403").await.0, 200);
    assert_eq!(ask(addr, "GET", "/catalog/services?pageNo=1&pageSize=1").await, (403, String::new()));
    assert_eq!(turn("defaultInstanceEphemeral", "false").await.0, 200);
    ok(addr, "POST", "/instance?serviceName=kept&ip=10.0.0.1&port=1").await;
    let list = json_of(addr, "/instance/list?serviceName=kept").await;
    assert_eq!(list["hosts"][0]["ephemeral"], false);
    assert_eq!(turn("pushCacheMillis", "1").await.0, 400);
    assert_eq!(turn("overriddenServerStatus", "READ_ONLY").await.0, 200);
    assert_eq!(ask(addr, "GET", "/operator/metrics").await.0, 200);
    let down = "server is DOWNnow, please try again later!";
    refused(addr, "POST", "/instance?serviceName=kept&ip=10.0.0.2&port=1", 503, down).await;
}
