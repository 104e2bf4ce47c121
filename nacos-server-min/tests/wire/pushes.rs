//! Pushes on the wire: when they come, when again, and what a bad reader costs.

use std::time::{Duration, Instant};

use nacos_server_min::{Server, Settings};
use serde_json::json;

use crate::support::{PATIENCE, Peer, Stream, eventually, instance, named, ports};

fn impatient() -> Settings {
    let mut settings = Settings::default();
    settings.push_ack_timeout = Duration::from_millis(80);
    settings.push_retry_delay = Duration::from_millis(40);
    settings.push_max_delay = Duration::from_millis(160);
    settings
}

async fn with(settings: Settings) -> Server {
    Server::builder().settings(settings).start().await.expect("free ports")
}

async fn subscriber(server: &Server) -> (Peer, Stream) {
    let (peer, mut stream) = Peer::naming(server.grpc_addr()).await;
    peer.subscribe("orders", "").await;
    stream.acked_push().await;
    (peer, stream)
}

#[tokio::test]
async fn a_first_subscription_is_pushed_to_even_if_nothing_changes_and_a_second_is_not() {
    let server = with(Settings::default()).await;
    let (peer, mut stream) = subscriber(&server).await;
    assert_eq!(peer.subscribe("orders", "").await.message(), "success");
    assert_eq!(peer.subscribe("orders", "c1").await.message(), "success");
    assert_eq!(stream.within(Duration::from_millis(150)).await, None);
    peer.unsubscribe("orders").await;
    peer.subscribe("orders", "").await;
    assert_eq!(stream.acked_push().await["hosts"], json!([]), "after an unsubscription it is a first one again");
}

#[tokio::test]
async fn each_subscriber_gets_its_clusters_and_its_text() {
    let server = with(Settings::default()).await;
    let (writer, _w) = Peer::naming(server.grpc_addr()).await;
    let (peer, mut stream) = Peer::naming(server.grpc_addr()).await;
    peer.subscribe("orders", "c1,zz").await;
    stream.acked_push().await;
    let instances = json!([
        {"ip": "10.0.0.1", "port": 1, "clusterName": "c1", "healthy": false},
        {"ip": "10.0.0.1", "port": 2, "clusterName": "c2"},
        {"ip": "10.0.0.1", "port": 3, "clusterName": "c1", "enabled": false}
    ]);
    let request = named("orders", json!({"type": "batchRegisterInstance", "instances": instances}));
    writer.unary("BatchInstanceRequest", &request).await;
    let list = stream.acked_push().await;
    assert_eq!((ports(&list), &list["clusters"]), (vec![1], &json!("c1,zz")), "unhealthy yes, disabled no");
}

#[tokio::test]
async fn an_unacknowledged_list_comes_again_and_is_the_newest() {
    let server = with(impatient()).await;
    let (writer, _w) = Peer::naming(server.grpc_addr()).await;
    let (_peer, mut stream) = subscriber(&server).await;
    writer.register("orders", instance("10.0.0.1", 1)).await;
    let (first, list) = stream.push().await;
    assert_eq!(ports(&list), [1]);
    writer.register("orders", instance("10.0.0.1", 2)).await;
    let (second, list) = stream.push().await;
    assert_eq!(ports(&list), [2]);
    assert_ne!(first, second);
    stream.ack(&first, 200);
    let (third, list) = stream.push().await;
    assert_eq!(ports(&list), [2], "the acknowledgement of the replaced list does not count");
    stream.ack(&third, 200);
    assert_eq!(stream.within(Duration::from_millis(300)).await, None);
    assert!(server.counters().pushes_repeated >= 1);
}

#[tokio::test]
async fn a_negative_acknowledgement_is_answered_with_the_list() {
    let server = with(impatient()).await;
    let (writer, _w) = Peer::naming(server.grpc_addr()).await;
    let (_peer, mut stream) = subscriber(&server).await;
    writer.register("orders", instance("10.0.0.1", 1)).await;
    let (id, _) = stream.push().await;
    stream.ack(&id, 500);
    let (id, list) = stream.push().await;
    assert_eq!(ports(&list), [1]);
    stream.ack(&id, 200);
    let seen = || async { server.counters().refusals == 1 && server.counters().acks == 2 };
    eventually("both are counted", seen).await;
}

#[tokio::test]
async fn any_response_with_the_id_acknowledges() {
    let server = with(impatient()).await;
    let (writer, _w) = Peer::naming(server.grpc_addr()).await;
    let (_peer, mut stream) = subscriber(&server).await;
    let acks = [
        ("NotifySubscriberResponse", json!({"resultCode": 200, "errorCode": 500})),
        ("NotifySubscriberResponse", json!({"resultCode": 200, "success": false, "message": null})),
        ("NotifySubscriberResponse", json!({})),
        ("ConfigChangeNotifyResponse", json!({"resultCode": 200})),
        ("HealthCheckResponse", json!({"resultCode": 200})),
    ];
    for (port, (kind, mut body)) in acks.into_iter().enumerate() {
        writer.register("orders", instance("10.0.0.1", u16::try_from(port + 1).expect("small"))).await;
        let (id, _) = stream.push().await;
        // One of them as a number.
        body["requestId"] = if port == 2 { json!(id.parse::<u64>().expect("decimal")) } else { json!(id) };
        stream.send(kind, &body.to_string());
        assert_eq!(stream.within(Duration::from_millis(200)).await, None, "{kind} {body}");
    }
    writer.register("orders", instance("10.0.0.1", 100)).await;
    let (id, _) = stream.push().await;
    stream.send("NopeResponse", &json!({"requestId": id}).to_string());
    stream.push().await;
}

#[tokio::test]
async fn a_client_that_never_acknowledges_is_closed() {
    let server = with(impatient()).await;
    let (peer, mut stream) = Peer::naming(server.grpc_addr()).await;
    peer.register("own", instance("10.0.0.1", 1)).await;
    peer.subscribe("orders", "").await;
    let mut pushes = 0;
    while let Some((kind, _)) = stream.next().await {
        assert_eq!(kind, "NotifySubscriberRequest");
        pushes += 1;
    }
    assert_eq!(pushes, 2, "after 80 ms, and 160 ms after that it is enough");
    eventually("it is closed", || async { server.connections().is_empty() }).await;
    assert_eq!(server.counters().unacknowledged_closed, 1);
}

#[tokio::test]
async fn a_burst_of_changes_is_a_few_pushes() {
    let server = with(Settings::default()).await;
    let (writer, _w) = Peer::naming(server.grpc_addr()).await;
    let (_peer, mut stream) = subscriber(&server).await;
    let start = Instant::now();
    for port in 1..=300 {
        writer.register("orders", instance("10.0.0.1", port)).await;
    }
    // The first list is kept waiting for its acknowledgement: at most one more per 50 ms.
    let mut pushes = 0;
    loop {
        let (id, list) = stream.push().await;
        pushes += 1;
        if ports(&list) == [300] {
            stream.ack(&id, 200);
            break;
        }
    }
    let most = start.elapsed().as_millis() / 50 + 2;
    assert!(pushes <= most, "{pushes} pushes, {most} at most");
}

#[tokio::test]
async fn a_subscriber_that_does_not_read_costs_one_slot() {
    let server = with(Settings::default()).await;
    let (writer, _w) = Peer::naming(server.grpc_addr()).await;
    let (reader, mut stream) = subscriber(&server).await;
    let padding = "x".repeat(900);
    let changed = |port: u16| {
        let mut changed = instance("10.0.0.1", port);
        changed["metadata"] = json!({"padding": padding});
        let instances = (0..100u16).map(|i| {
            let mut one = changed.clone();
            one["ip"] = json!(format!("10.0.1.{i}"));
            one
        });
        named("orders", json!({"type": "batchRegisterInstance", "instances": instances.collect::<Vec<_>>()}))
    };
    // Each list has about 120 KB; the reader's window is far smaller than all of them.
    for port in 1..=150 {
        writer.unary("BatchInstanceRequest", &changed(port)).await;
    }
    let before = server.counters().pushes;
    assert!(before < 30, "{before} pushes were made for a reader that takes none");
    assert_eq!(reader.health().await.codes(), ("HealthCheckResponse", 200, 0), "its requests are answered");
    let newest = async {
        loop {
            let list = stream.acked_push().await;
            if ports(&list).first() == Some(&150) {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE, newest).await.expect("it catches up with the newest list");
}

#[tokio::test]
async fn a_subscriber_that_never_reads_again_is_closed() {
    let mut settings = Settings::default();
    settings.stalled_timeout = Duration::from_millis(150);
    settings.detection_interval = Duration::from_millis(30);
    let server = with(settings).await;
    let (writer, _w) = Peer::naming(server.grpc_addr()).await;
    let (_reader, stream) = subscriber(&server).await;
    let large = |port: u16| {
        let one = |i: u16| json!({"ip": format!("10.0.{}.{}", i / 250, i % 250), "port": port, "metadata": {"k": "x".repeat(1_000)}});
        named("orders", json!({"type": "batchRegisterInstance", "instances": (0..300).map(one).collect::<Vec<_>>()}))
    };
    let mut port = 0;
    eventually("the deaf connection is closed", || {
        port += 1;
        let (writer, server, request) = (&writer, &server, large(port));
        async move {
            writer.unary("BatchInstanceRequest", &request).await;
            server.connections().len() == 1
        }
    })
    .await;
    assert_eq!(server.counters().unacknowledged_closed, 1);
    drop(stream);
}

#[tokio::test]
async fn a_hundred_subscribers_are_told_the_same_bytes() {
    let server = with(Settings::default()).await;
    let (writer, _w) = Peer::naming(server.grpc_addr()).await;
    let mut subscribers = Vec::new();
    for _ in 0..100 {
        subscribers.push(subscriber(&server).await);
    }
    writer.register("orders", instance("10.0.0.1", 1)).await;
    let mut lists = Vec::new();
    for (_, stream) in &mut subscribers {
        lists.push(stream.acked_push().await);
    }
    assert_eq!(ports(&lists[0]), [1]);
    assert!(lists.iter().all(|list| *list == lists[0]), "also the time stamp");
}
