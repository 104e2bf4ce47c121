//! The habits of the recorded server.

use std::time::{Duration, Instant};

use nacos_server_min::{Behaviour, Server};
use serde_json::{Value, json};

use crate::support::{Peer, Reply, eventually, instance, named, ports, setup};

async fn server(seed: u64) -> Server {
    Server::builder().behaviour(Behaviour::Nacos25).seed(seed).start().await.expect("free ports")
}

/// A registration that is known to the server, however late.
async fn naming(server: &Server) -> (Peer, crate::support::Stream) {
    Peer::naming(server.grpc_addr()).await
}

fn seen(answer: &Reply) -> Vec<u64> {
    ports(&answer.body["serviceInfo"])
}

#[tokio::test]
async fn a_change_is_pushed_after_half_a_second_and_queries_are_stale_until_then() {
    let server = server(1).await;
    let (writer, _w) = naming(&server).await;
    let (peer, mut stream) = naming(&server).await;
    let start = Instant::now();
    peer.subscribe("orders", "").await;
    assert_eq!(ports(&stream.acked_push().await), [0u64; 0]);
    assert!(start.elapsed() >= Duration::from_millis(490), "{:?}", start.elapsed());

    let start = Instant::now();
    writer.register("orders", instance("10.0.0.1", 1)).await;
    let stale = peer.query("orders").await;
    assert_eq!(seen(&stale), [0u64; 0], "no read of one's own write");
    writer.register("orders", instance("10.0.0.1", 2)).await;
    let mut list = stream.acked_push().await;
    while ports(&list) != [2] {
        // A repetition of the first push.
        list = stream.acked_push().await;
    }
    assert!(start.elapsed() >= Duration::from_millis(490), "changes are merged: {:?}", start.elapsed());
    assert!(list["lastRefTime"].as_i64() > stale.body["serviceInfo"]["lastRefTime"].as_i64());
    assert_eq!(seen(&peer.query("orders").await), [2]);
    assert_eq!(list["hosts"][0]["metadata"], json!({}));
}

#[tokio::test]
async fn pushes_are_repeated_and_overtake_each_other_but_the_newest_arrives() {
    let server = server(3).await;
    let (writer, _w) = naming(&server).await;
    let (peer, mut stream) = naming(&server).await;
    for service in 0..40 {
        peer.subscribe(&format!("s{service}"), "").await;
    }
    let mut times: std::collections::HashMap<String, Vec<i64>> = std::collections::HashMap::new();
    let mut newest = std::collections::HashSet::new();
    let mut odd = 0;
    for port in [1, 2] {
        for service in 0..40 {
            writer.register(&format!("s{service}"), instance("10.0.0.1", port)).await;
        }
        newest.clear();
        while newest.len() < 40 {
            let list = stream.acked_push().await;
            let name = list["name"].as_str().expect("a name").to_owned();
            let time = list["lastRefTime"].as_i64().expect("a time");
            let known = times.entry(name.clone()).or_default();
            odd += usize::from(known.last().is_some_and(|last| *last >= time));
            known.push(time);
            if ports(&list) == [u64::from(port)] {
                newest.insert(name);
            }
        }
    }
    assert!(odd > 0, "no repeated and no late push among {}", times.values().map(Vec::len).sum::<usize>());
}

#[tokio::test]
async fn the_first_stream_keeps_the_pushes() {
    let server = server(1).await;
    let (peer, mut first) = naming(&server).await;
    peer.subscribe("orders", "").await;
    first.acked_push().await;
    let mut second = peer.set_up(&setup()).await;
    peer.register("orders", instance("10.0.0.1", 1)).await;
    while ports(&first.acked_push().await) != [1] {}
    first.half_close();
    while first.next().await.is_some() {}
    peer.register("orders", instance("10.0.0.1", 2)).await;
    assert_eq!(second.within(Duration::from_millis(900)).await, None, "not even when it has ended");
}

#[tokio::test]
async fn an_early_request_may_be_told_that_the_connection_is_unknown() {
    let server = server(5).await;
    let mut table = setup();
    drop(table.as_object_mut().and_then(|all| all.remove("abilityTable")));
    let mut early = 0;
    for _ in 0..40 {
        let peer = Peer::connect(server.grpc_addr()).await;
        let stream = peer.stream().await;
        stream.send("ConnectionSetupRequest", &table.to_string());
        early += usize::from(peer.health().await.body["errorCode"] == 301);
        eventually("it is known a little later", || async { peer.health().await.body["resultCode"] == 200 }).await;
    }
    assert!(early > 0 && early < 40, "{early} of 40");
}

#[tokio::test]
async fn it_takes_and_shows_what_it_should_not() {
    let server = server(1).await;
    let (peer, _stream) = naming(&server).await;
    for (service, weight, shown) in [
        ("negative", json!(-1), json!(-1.0)),
        ("heavy", json!(20_000), json!(20_000.0)),
        ("nan", json!("NaN"), json!("NaN")),
        ("infinite", json!("Infinity"), json!("Infinity")),
    ] {
        let mut odd = instance("10.0.0.1", 1);
        odd["weight"] = weight;
        assert_eq!(peer.register(service, odd).await.codes(), ("InstanceResponse", 200, 0));
        let found = || async {
            let answer = peer.query(service).await;
            answer.hosts().first().is_some_and(|host| host["weight"] == shown)
        };
        eventually(service, found).await;
    }
    peer.register("nowhere", json!({"port": 1})).await;
    let without_ip = || async {
        let answer = peer.query("nowhere").await;
        answer.hosts().first().is_some_and(|host| host.get("ip").is_none())
    };
    eventually("a host without an address", without_ip).await;
}

#[tokio::test]
async fn two_clients_of_one_address_are_two_rows_and_twins_are_one() {
    let server = server(1).await;
    let (a, _sa) = naming(&server).await;
    let (b, _sb) = naming(&server).await;
    a.register("orders", instance("10.0.0.1", 1)).await;
    b.register("orders", instance("10.0.0.1", 1)).await;
    let mut heavier = instance("10.0.0.1", 1);
    heavier["weight"] = json!(2.0);
    eventually("one row", || async { a.query("orders").await.hosts().len() == 1 }).await;
    b.register("orders", heavier).await;
    eventually("two rows", || async { a.query("orders").await.hosts().len() == 2 }).await;
}

#[tokio::test]
async fn a_namespace_is_a_text_and_none_is_an_error() {
    let server = server(1).await;
    let (peer, _stream) = naming(&server).await;
    let without = |mut request: Value| {
        drop(request.as_object_mut().and_then(|all| all.remove("namespace")));
        request
    };
    let register = named("orders", json!({"type": "registerInstance", "instance": instance("10.0.0.1", 1)}));
    assert_eq!(peer.unary("InstanceRequest", &without(register.clone())).await.codes(), ("ErrorResponse", 500, 500));
    let query = without(named("orders", json!({"cluster": ""})));
    assert_eq!(peer.unary("ServiceQueryRequest", &query).await.codes(), ("ErrorResponse", 500, 500));
    let list = without(named("", json!({"pageNo": 1, "pageSize": 1})));
    assert_eq!(peer.unary("ServiceListRequest", &list).await.codes(), ("ErrorResponse", 500, 500));
    let subscribe = without(named("orders", json!({"subscribe": true, "clusters": null})));
    let subscribed = peer.unary("SubscribeServiceRequest", &subscribe).await;
    assert_eq!((subscribed.codes(), seen(&subscribed)), (("SubscribeServiceResponse", 200, 0), vec![]));
    assert_eq!(subscribed.body["serviceInfo"].get("clusters"), None, "null stays null and is left out");
    let mut empty = register;
    empty["namespace"] = json!("");
    assert_eq!(peer.unary("InstanceRequest", &empty).await.codes(), ("InstanceResponse", 200, 0));
    assert!(peer.query("orders").await.hosts().is_empty(), "the empty namespace is another one");
}
