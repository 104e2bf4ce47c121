//! What one connection publishes, and what others see of it.

use nacos_server_min::Server;
use serde_json::{Value, json};

use crate::support::{Peer, Reply, eventually, instance, named, ports};

async fn server() -> Server {
    Server::builder().start().await.expect("free ports")
}

fn seen(answer: &Reply) -> Vec<u64> {
    ports(&answer.body["serviceInfo"])
}

async fn batch(peer: &Peer, service: &str, instances: Value) -> Reply {
    let request = named(service, json!({"type": "batchRegisterInstance", "instances": instances}));
    peer.unary("BatchInstanceRequest", &request).await
}

#[tokio::test]
async fn a_connection_has_one_record_per_service() {
    let server = server().await;
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    peer.register("orders", instance("10.0.0.1", 1)).await;
    peer.register("orders", instance("10.0.0.1", 2)).await;
    assert_eq!(seen(&peer.query("orders").await), [2], "a register replaces");
    let answer = batch(&peer, "orders", json!([instance("10.0.0.1", 3), instance("10.0.0.1", 4)])).await;
    assert_eq!(
        (answer.codes(), &answer.body["type"]),
        (("BatchInstanceResponse", 200, 0), &json!("batchRegisterInstance"))
    );
    assert_eq!(seen(&peer.query("orders").await), [3, 4], "a batch replaces");
    batch(&peer, "orders", json!([instance("10.0.0.1", 4)])).await;
    assert_eq!(seen(&peer.query("orders").await), [4]);
    batch(&peer, "orders", json!([])).await;
    assert_eq!(seen(&peer.query("orders").await), [0u64; 0]);
    peer.register("orders", instance("10.0.0.1", 5)).await;
    let gone = peer.deregister("orders", instance("9.9.9.9", 1)).await;
    assert_eq!(gone.codes(), ("InstanceResponse", 200, 0));
    assert_eq!(seen(&peer.query("orders").await), [0u64; 0], "whatever address the request names");
    assert_eq!(peer.deregister("never-seen", instance("9.9.9.9", 1)).await.codes(), ("InstanceResponse", 200, 0));
}

#[tokio::test]
async fn the_newest_client_of_an_address_is_shown_and_its_end_uncovers_the_older_one() {
    let server = server().await;
    let (old, _old_stream) = Peer::naming(server.grpc_addr()).await;
    let (new, new_stream) = Peer::naming(server.grpc_addr()).await;
    let weighted = |weight: f64| {
        let mut instance = instance("10.0.0.1", 1);
        instance["weight"] = json!(weight);
        instance
    };
    let weight = async || {
        let answer = old.query("orders").await;
        answer.hosts().iter().map(|h| h["weight"].as_f64().expect("a number")).collect::<Vec<_>>()
    };
    old.register("orders", weighted(1.0)).await;
    new.register("orders", weighted(2.0)).await;
    assert_eq!(weight().await, [2.0]);
    old.register("orders", weighted(3.0)).await;
    assert_eq!(weight().await, [2.0], "the newest client, not the newest write");
    drop((new, new_stream));
    let uncovered = || async { weight().await == [3.0] };
    eventually("the older record is shown again", uncovered).await;
}

#[tokio::test]
async fn every_read_sees_every_acknowledged_write() {
    let server = server().await;
    let (writer, _a) = Peer::naming(server.grpc_addr()).await;
    let (reader, _b) = Peer::naming(server.grpc_addr()).await;
    let mut last = 0;
    for port in 1..=200 {
        writer.register("orders", instance("10.0.0.1", port)).await;
        let answer = reader.query("orders").await;
        assert_eq!(seen(&answer), [u64::from(port)]);
        let time = answer.body["serviceInfo"]["lastRefTime"].as_i64().expect("a time");
        assert!(time > last, "strictly later with each revision");
        assert_eq!(
            reader.query("orders").await.body["serviceInfo"]["lastRefTime"],
            time,
            "of the revision, not the answer"
        );
        last = time;
    }
}

#[tokio::test]
async fn lists_are_sorted_filtered_and_complete() {
    let server = server().await;
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    let with = |port: u16, cluster: &str, healthy: bool, enabled: bool| json!({"ip": "10.0.0.1", "port": port, "clusterName": cluster, "healthy": healthy, "enabled": enabled});
    let all =
        [with(9, "c2", true, true), with(1, "c1", true, true), with(2, "c1", false, true), with(3, "c1", true, false)];
    batch(&peer, "orders", json!(all)).await;
    let query = async |clusters: Value, healthy: Value| {
        let request = named("orders", json!({"cluster": clusters, "healthyOnly": healthy}));
        peer.unary("ServiceQueryRequest", &request).await
    };
    let order = |answer: &Reply| answer.hosts().iter().map(|h| h["port"].as_u64().expect("a port")).collect::<Vec<_>>();
    assert_eq!(order(&query(json!(""), json!(false)).await), [1, 2, 9], "no disabled ones, sorted");
    assert_eq!(order(&query(json!("c1"), json!(false)).await), [1, 2]);
    assert_eq!(order(&query(json!("c1,c2"), json!("true")).await), [1, 9]);
    assert_eq!(order(&query(json!("zz"), json!(null)).await), [0u64; 0]);
    let info = query(json!("c1"), json!(false)).await.body["serviceInfo"].clone();
    assert_eq!(
        (&info["name"], &info["groupName"], &info["clusters"]),
        (&json!("orders"), &json!("DEFAULT_GROUP"), &json!("c1"))
    );
    assert_eq!((&info["allIPs"], &info["allIps"], &info["valid"]), (&json!(false), &json!(false), &json!(true)));
    assert_eq!((&info["cacheMillis"], &info["checksum"]), (&json!(10_000), &json!("")));
    let unknown = peer.query("unknown").await;
    assert!(unknown.hosts().is_empty());
}

#[tokio::test]
async fn persistent_instances_belong_to_no_connection() {
    let server = server().await;
    let (peer, stream) = Peer::naming(server.grpc_addr()).await;
    let (other, _other_stream) = Peer::naming(server.grpc_addr()).await;
    let request =
        |kind: &str, service: &str, instance: Value| named(service, json!({"type": kind, "instance": instance}));
    let persistent = async |peer: &Peer, kind: &str, service: &str, instance: Value| {
        peer.unary("PersistentInstanceRequest", &request(kind, service, instance)).await
    };
    persistent(&peer, "registerInstance", "db", instance("10.0.0.1", 1)).await;
    let second = persistent(&peer, "registerInstance", "db", instance("10.0.0.1", 2)).await;
    assert_eq!(second.codes(), ("InstanceResponse", 200, 0));
    let ephemeral = other.register("db", instance("10.0.0.1", 3)).await;
    assert_eq!(ephemeral.codes(), ("ErrorResponse", 400, 400));
    assert_eq!(
        ephemeral.message(),
        "errCode: 400, errMsg: Current service DEFAULT_GROUP@@db is persistent service, can't register ephemeral instance. "
    );
    let batched = batch(&other, "db", json!([instance("10.0.0.1", 3)])).await;
    assert!(batched.message().contains("can't batch register ephemeral instance. "));
    other.register("web", instance("10.0.0.1", 3)).await;
    let reverse = persistent(&peer, "registerInstance", "web", instance("10.0.0.1", 4)).await;
    assert!(reverse.message().contains("is ephemeral service, can't register persistent instance. "));

    drop((peer, stream));
    eventually("the connection is gone", || async { server.connections().len() == 1 }).await;
    let answer = other.query("db").await;
    assert_eq!(seen(&answer), [1, 2]);
    assert!(answer.hosts().iter().all(|host| host["ephemeral"] == false));
    other.deregister("db", instance("10.0.0.1", 1)).await;
    assert_eq!(seen(&other.query("db").await), [1, 2], "an ephemeral deregistration does not touch it");
    let mut elsewhere = instance("10.0.0.1", 1);
    elsewhere["clusterName"] = json!("a_b");
    persistent(&other, "registerInstance", "db", elsewhere).await;
    assert_eq!(seen(&other.query("db").await), [1, 2], "one record per address, whatever the cluster");
    persistent(&other, "deregisterInstance", "db", instance("10.0.0.1", 1)).await;
    assert_eq!(seen(&other.query("db").await), [2]);
}

#[tokio::test]
async fn no_namespace_an_empty_one_and_public_are_one() {
    let server = server().await;
    let (peer, mut stream) = Peer::naming(server.grpc_addr()).await;
    let in_namespace = |namespace: Option<Value>, own: Value| {
        let mut request = named("orders", own);
        match namespace {
            None => drop(request.as_object_mut().and_then(|all| all.remove("namespace"))),
            Some(value) => request["namespace"] = value,
        }
        request
    };
    let forms = [None, Some(Value::Null), Some(json!("")), Some(json!(" ")), Some(json!("public"))];
    for (port, writer) in forms.iter().enumerate() {
        let port = u16::try_from(port + 1).expect("a small number");
        let own = json!({"type": "registerInstance", "instance": instance("10.0.0.1", port)});
        let written = peer.unary("InstanceRequest", &in_namespace(writer.clone(), own)).await;
        assert_eq!(written.codes(), ("InstanceResponse", 200, 0), "{writer:?}");
        for reader in &forms {
            let answer = peer.unary("ServiceQueryRequest", &in_namespace(reader.clone(), json!({"cluster": ""}))).await;
            assert_eq!(seen(&answer), [u64::from(port)], "written by {writer:?}, read by {reader:?}");
            let page = in_namespace(reader.clone(), json!({"pageNo": 1, "pageSize": 10}));
            assert_eq!(peer.unary("ServiceListRequest", &page).await.body["serviceNames"], json!(["orders"]));
        }
    }
    let own = json!({"subscribe": true, "clusters": ""});
    peer.unary("SubscribeServiceRequest", &in_namespace(None, own)).await;
    assert_eq!(ports(&stream.acked_push().await), [5]);
    let foreign = in_namespace(Some(json!("dev")), json!({"cluster": ""}));
    assert_eq!(seen(&peer.unary("ServiceQueryRequest", &foreign).await), [0u64; 0]);
}

#[tokio::test]
async fn what_is_missing_is_written_empty() {
    let server = server().await;
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    peer.register("orders", json!({"port": 1})).await;
    let request = named("orders", json!({"subscribe": true, "clusters": null}));
    let answer = peer.unary("SubscribeServiceRequest", &request).await;
    let host = answer.hosts().first().expect("one host").clone();
    assert_eq!((&host["ip"], &host["clusterName"]), (&json!(""), &json!("DEFAULT")));
    assert_eq!(host["instanceId"], "null#1#null#DEFAULT_GROUP@@orders");
    assert_eq!(answer.body["serviceInfo"]["clusters"], "");
}

#[tokio::test]
async fn pages_of_service_names() {
    let server = server().await;
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    for name in ["s3", "s1", "s5", "s2", "s4"] {
        peer.register(name, instance("10.0.0.1", 1)).await;
    }
    peer.subscribe("only-subscribed", "").await;
    let page = async |number: Value, size: Value| {
        let request = named("", json!({"pageNo": number, "pageSize": size}));
        let answer = peer.unary("ServiceListRequest", &request).await;
        assert_eq!(answer.body["count"], 5, "whatever the page");
        answer.body["serviceNames"].clone()
    };
    assert_eq!(page(json!(1), json!(2)).await, json!(["s1", "s2"]));
    assert_eq!(page(json!(3), json!(2)).await, json!(["s5"]));
    assert_eq!(page(json!(4), json!(2)).await, json!([]));
    assert_eq!(page(json!(0), json!(100)).await, json!(["s1", "s2", "s3", "s4", "s5"]));
    assert_eq!(page(json!(1), Value::Null).await, json!([]));
    assert_eq!(page(json!(i32::MAX), json!(i32::MAX)).await, json!([]));
}
