//! Pushes by UDP, as a client of the 1.x protocol meets them.

use std::io::Read;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use nacos_server_min::{Behaviour, Server, Settings};
use serde_json::{Value, json};
use tokio::net::UdpSocket;

use crate::http::{call, exchange};
use crate::support::{PATIENCE, Peer, eventually, ports};

const JAVA: &str = "Nacos-Java-Client:v1.4.8";
const LIST: &str = "/nacos/v1/ns/instance/list";

/// A client's receiver.
struct Receiver {
    socket: UdpSocket,
    agent: &'static str,
}

/// A packet: its bytes, where it came from, and what is in it.
#[derive(Debug, PartialEq)]
struct Packet {
    bytes: Vec<u8>,
    from: SocketAddr,
    stamp: i64,
    list: Value,
}

impl Receiver {
    async fn open(ip: &str) -> Self {
        let socket = UdpSocket::bind((ip, 0)).await.expect("a free port");
        Self { socket, agent: JAVA }
    }

    fn port(&self) -> u16 {
        self.socket.local_addr().expect("bound").port()
    }

    /// Asks for the list of a service as clients do, with the port in the question.
    async fn poll(&self, server: SocketAddr, service: &str) -> Value {
        self.poll_as(server, &format!("serviceName={service}&clientIP=127.0.0.1&app=shop")).await
    }

    async fn poll_as(&self, server: SocketAddr, query: &str) -> Value {
        let path = format!("{LIST}?{query}&udpPort={}", self.port());
        let (status, _, list) = exchange(server, "GET", &path, &[("user-agent", self.agent)], "").await;
        assert_eq!(status, 200, "{list}");
        serde_json::from_str(&list).expect("JSON")
    }

    async fn packet(&self) -> Packet {
        let mut buffer = vec![0; 65_536];
        let received = tokio::time::timeout(PATIENCE, self.socket.recv_from(&mut buffer)).await;
        let (length, from) = received.expect("a packet in time").expect("a live socket");
        buffer.truncate(length);
        let mut plain = buffer.clone();
        if buffer.starts_with(&[0x1f, 0x8b]) {
            plain.clear();
            flate2::read::GzDecoder::new(&buffer[..]).read_to_end(&mut plain).expect("whole");
            assert!(plain.len() >= 1_024);
        } else {
            assert!(plain.len() < 1_024);
        }
        let packet: Value = serde_json::from_slice(&plain).expect("JSON");
        assert_eq!(packet["type"], "dom");
        let list = packet["data"].as_str().expect("the list is a text");
        let list = serde_json::from_str(list).expect("JSON inside");
        Packet { bytes: buffer, from, stamp: packet["lastRefTime"].as_i64().expect("a number"), list }
    }

    async fn ack(&self, packet: &Packet) {
        let ack = format!(r#"{{"type": "push-ack", "lastRefTime":"{}", "data":""}}"#, packet.stamp);
        self.socket.send_to(ack.as_bytes(), packet.from).await.expect("sent");
    }

    async fn acked(&self) -> Value {
        let packet = self.packet().await;
        self.ack(&packet).await;
        packet.list
    }
}

async fn server() -> Server {
    Server::builder().start().await.expect("free ports")
}

/// Registers a persistent instance, which needs nobody to keep it alive.
async fn register(server: &Server, service: &str, port: u16, metadata: &str) {
    let path = "/nacos/v1/ns/instance";
    let query = format!("serviceName={service}&ip=127.0.0.9&port={port}&ephemeral=false&metadata={metadata}");
    let answer = call(server.http_addr(), "POST", &format!("{path}?{query}"), None).await;
    assert_eq!(answer, (200, "ok".to_owned()));
}

async fn json_of(server: &Server, path: &str) -> Value {
    json_at(server.http_addr(), path).await
}

async fn json_at(addr: SocketAddr, path: &str) -> Value {
    let (status, body) = call(addr, "GET", path, None).await;
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).expect("JSON")
}

#[tokio::test]
async fn clients_of_both_protocols_see_the_same_changes() {
    let server = server().await;
    let (old, (peer, mut stream)) = (Receiver::open("127.0.0.1").await, Peer::naming(server.grpc_addr()).await);
    peer.subscribe("orders", "").await;
    assert_eq!(ports(&stream.acked_push().await), [0u64; 0]);
    assert_eq!(ports(&old.poll(server.http_addr(), "orders").await), [0u64; 0]);
    let first = old.acked().await;
    assert_eq!((&first["name"], first.get("groupName")), (&json!("DEFAULT_GROUP@@orders"), None));
    for port in [1, 2, 3] {
        register(&server, "orders", port, "").await;
        let (by_udp, by_grpc) = (old.acked().await, stream.acked_push().await);
        assert_eq!(by_udp["hosts"], by_grpc["hosts"]);
        assert_eq!((&by_udp["lastRefTime"], &by_udp["cacheMillis"]), (&by_grpc["lastRefTime"], &json!(10_000)));
        assert_eq!(ports(&by_udp).last(), Some(&u64::from(port)));
    }
    let counters = server.counters();
    assert_eq!((counters.udp_pushes, counters.udp_pushes_repeated, counters.udp_refused), (4, 0, 0));
    eventually("all four are acknowledged", async || server.counters().udp_acks == 4).await;
}

#[tokio::test]
async fn an_unacknowledged_packet_comes_twice_and_then_its_receiver_is_forgotten() {
    let mut settings = Settings::default();
    settings.udp_ack_timeout = Duration::from_millis(50);
    let server = Server::builder().settings(settings).start().await.expect("free ports");
    let receiver = Receiver::open("127.0.0.1").await;
    receiver.poll(server.http_addr(), "orders").await;
    let (once, twice) = (receiver.packet().await, receiver.packet().await);
    assert_eq!(once, twice);
    eventually("it is forgotten", async || server.counters().udp_unacknowledged == 1).await;
    assert_eq!(json_of(&server, "/nacos/v1/ns/service/subscribers?serviceName=orders").await["count"], 0);
    // A question brings it back.
    receiver.poll(server.http_addr(), "orders").await;
    assert!(receiver.packet().await.stamp > twice.stamp);
}

#[tokio::test]
async fn who_does_not_ask_again_is_forgotten_with_everything_that_belongs_to_it() {
    let mut settings = Settings::default();
    settings.udp_subscription_timeout = Duration::from_millis(300);
    settings.empty_service_after = Duration::from_millis(1);
    settings.clean_interval = Duration::from_millis(5);
    let server = Server::builder().settings(settings).start().await.expect("free ports");
    let receiver = Receiver::open("127.0.0.1").await;
    receiver.poll(server.http_addr(), "orders").await;
    receiver.acked().await;
    let metrics = "/nacos/v1/ns/operator/metrics?onlyStatus=false";
    assert_eq!(json_of(&server, metrics).await["subscribeCount"], 1);
    eventually("it is forgotten", async || json_of(&server, metrics).await["subscribeCount"] == 0).await;
    register(&server, "orders", 1, "").await;
    let seen = receiver.poll(server.http_addr(), "orders").await;
    assert_eq!(ports(&seen), [1]);
    assert_eq!(ports(&receiver.acked().await), [1], "the first list it hears of after it has come back");
    assert_eq!(server.counters().udp_pushes, 2);
}

#[tokio::test]
async fn a_list_is_encoded_once_for_all_who_have_the_same_filter() {
    let server = server().await;
    let mut receivers = Vec::new();
    for at in 0..20 {
        let receiver = Receiver::open("127.0.0.1").await;
        let clusters = if at < 15 { "" } else { "c1" };
        let query = format!("serviceName=orders&clusters={clusters}&clientIP=127.0.0.1");
        receiver.poll_as(server.http_addr(), &query).await;
        receiver.acked().await;
        receivers.push(receiver);
    }
    let before = server.counters().lists_encoded;
    register(&server, "orders", 1, "").await;
    let mut stamps = Vec::new();
    for (at, receiver) in receivers.iter().enumerate() {
        let packet = receiver.packet().await;
        receiver.ack(&packet).await;
        assert_eq!(ports(&packet.list), if at < 15 { vec![1] } else { vec![] });
        assert_eq!(packet.list["clusters"], if at < 15 { "" } else { "c1" });
        stamps.push(packet.stamp);
    }
    stamps.dedup();
    assert_eq!((stamps.len(), server.counters().lists_encoded - before), (2, 2));
}

/// Text that does not compress.
fn noise(length: usize) -> String {
    std::iter::repeat_with(fastrand::alphanumeric).take(length).collect()
}

#[tokio::test]
async fn what_is_too_large_is_left_to_the_clients_questions() {
    let server = server().await;
    let (java, mut go) = (Receiver::open("127.0.0.1").await, Receiver::open("127.0.0.1").await);
    go.agent = "Nacos-Go-Client:v1.0.0";
    for receiver in [&java, &go] {
        receiver.poll(server.http_addr(), "orders").await;
        receiver.acked().await;
    }
    for port in 1..=8 {
        register(&server, "orders", port, &format!("k%3D{}", noise(900))).await;
        java.acked().await;
    }
    eventually("Go clients are spared", async || server.counters().udp_too_large > 0).await;
    let seen = go.acked().await;
    assert!(!seen["hosts"].as_array().expect("hosts").is_empty(), "smaller lists were sent");
    assert_eq!(ports(&go.poll(server.http_addr(), "orders").await).len(), 8);
    let many = "/nacos/v1/ns/instance";
    for port in 9..=100 {
        let query = format!("serviceName=orders&ip=127.0.0.9&port={port}&ephemeral=false&metadata=k%3D{}", noise(900));
        call(server.http_addr(), "POST", &format!("{many}?{query}"), None).await;
    }
    let sent = server.counters().udp_pushes;
    let before = server.counters().udp_too_large;
    register(&server, "orders", 101, "").await;
    eventually("both are spared", async || server.counters().udp_too_large > before).await;
    assert_eq!(ports(&java.poll(server.http_addr(), "orders").await).len(), 101);
    assert_eq!((server.counters().udp_failed, server.counters().udp_pushes >= sent), (0, true));
}

#[tokio::test]
async fn junk_and_acknowledgements_from_elsewhere_are_counted_and_change_nothing() {
    let server = server().await;
    let (receiver, stranger) = (Receiver::open("127.0.0.1").await, Receiver::open("127.0.0.1").await);
    receiver.poll(server.http_addr(), "orders").await;
    let packet = receiver.packet().await;
    stranger.ack(&packet).await;
    for junk in [&b""[..], b"{}", b"\xff\xfe\x00", b"OPTIONS sip:nm SIP/2.0\r\n", &[b'x'; 9_000]] {
        stranger.socket.send_to(junk, packet.from).await.expect("sent");
    }
    eventually("all six are seen", async || server.counters().udp_ignored == 6).await;
    assert_eq!(server.counters().udp_acks, 0);
    receiver.ack(&packet).await;
    receiver.ack(&packet).await;
    eventually("only one of two counts", async || server.counters().udp_ignored == 7).await;
    assert_eq!(server.counters().udp_acks, 1);
    // Under a flood lists still arrive.
    for _ in 0..2_000 {
        stranger.socket.send_to(b"junk", packet.from).await.expect("sent");
    }
    register(&server, "orders", 1, "").await;
    assert_eq!(ports(&receiver.acked().await), [1]);
}

#[tokio::test]
async fn without_an_address_the_list_goes_where_the_question_came_from() {
    let server = server().await;
    let receiver = Receiver::open("127.0.0.1").await;
    receiver.poll_as(server.http_addr(), "serviceName=orders&clientIP=").await;
    assert_eq!(receiver.acked().await["name"], "DEFAULT_GROUP@@orders");
    for nowhere in ["host.local", "0.0.0.0", "224.0.0.1", "255.255.255.255", "ff02::1"] {
        receiver.poll_as(server.http_addr(), &format!("serviceName=stock&clientIP={nowhere}")).await;
    }
    assert_eq!(server.counters().udp_refused, 5);
}

#[tokio::test]
async fn a_server_on_loopback_reaches_clients_that_give_another_address_of_the_host() {
    let server = server().await;
    let receiver = Receiver::open("127.0.0.1").await;
    receiver.poll_as(server.http_addr(), "serviceName=orders&clientIP=192.0.2.77").await;
    assert_eq!(ports(&receiver.acked().await), [0u64; 0]);
    eventually("the first list is acknowledged", async || server.counters().udp_acks == 1).await;
    register(&server, "orders", 1, "").await;
    assert_eq!(ports(&receiver.acked().await), [1]);
    eventually("the second one, too", async || server.counters().udp_acks == 2).await;
}

#[tokio::test]
async fn an_ipv6_server_pushes_to_ipv6_clients_and_one_on_all_interfaces_to_both() {
    let server = Server::builder().host("::1").start().await.expect("free ports");
    let receiver = Receiver::open("::1").await;
    receiver.poll_as(server.http_addr(), "serviceName=orders&clientIP=%3A%3A1").await;
    let packet = receiver.packet().await;
    assert_eq!(packet.from.ip().to_string(), "::1");
    receiver.ack(&packet).await;
    eventually("it is acknowledged", async || server.counters().udp_acks == 1).await;

    let server = Server::builder().host("::").start().await.expect("free ports");
    let addr = SocketAddr::from(([127, 0, 0, 1], server.http_addr().port()));
    let receiver = Receiver::open("127.0.0.1").await;
    receiver.poll(addr, "orders").await;
    receiver.acked().await;
    eventually("it is acknowledged", async || server.counters().udp_acks == 1).await;
    let listed = json_at(addr, "/nacos/v1/ns/service/subscribers?serviceName=orders").await;
    assert_eq!(listed["subscribers"][0]["addrStr"], format!("127.0.0.1:{}", receiver.port()));
}

#[tokio::test]
async fn the_switch_for_pushes_holds_them_over_both_protocols() {
    let server = server().await;
    let (old, (peer, mut stream)) = (Receiver::open("127.0.0.1").await, Peer::naming(server.grpc_addr()).await);
    peer.subscribe("orders", "").await;
    stream.acked_push().await;
    old.poll(server.http_addr(), "orders").await;
    old.acked().await;
    let turn = async |value: &str| {
        let path = format!("/nacos/v1/ns/operator/switches?entry=pushEnabled&value={value}");
        assert_eq!(call(server.http_addr(), "PUT", &path, None).await.0, 200);
    };
    turn("false").await;
    for port in [1, 2] {
        register(&server, "orders", port, "").await;
    }
    assert_eq!(stream.within(Duration::from_millis(200)).await, None);
    assert_eq!((server.counters().pushes, server.counters().udp_pushes), (1, 1));
    turn("true").await;
    assert_eq!(ports(&old.acked().await), [1, 2], "one push, of the newest list");
    assert_eq!(ports(&stream.acked_push().await), [1, 2]);
}

#[tokio::test]
async fn subscribers_by_udp_are_shown_by_every_generation() {
    let server = server().await;
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    peer.subscribe("orders", "").await;
    let receiver = Receiver::open("127.0.0.1").await;
    receiver.poll_as(server.http_addr(), "serviceName=orders&clientIP=127.0.0.1&app=shop&clusters=c1").await;
    let address = format!("127.0.0.1:{}", receiver.port());
    let v1 = json_of(&server, "/nacos/v1/ns/service/subscribers?serviceName=ord&aggregation=false").await;
    assert_eq!(v1["count"], 2);
    let shown = json!({
        "addrStr": address, "agent": JAVA, "app": "shop", "ip": "127.0.0.1", "port": receiver.port(),
        "namespaceId": "public", "serviceName": "DEFAULT_GROUP@@orders", "cluster": "c1",
    });
    assert!(v1["subscribers"].as_array().expect("a list").contains(&shown), "{v1}");
    let of_service = "serviceName=orders&ephemeral=true";
    let v2 = json_of(&server, &format!("/nacos/v2/ns/client/service/subscriber/list?{of_service}")).await;
    let shown = json!({ "clientId": format!("{address}#true"), "ip": "127.0.0.1", "port": receiver.port() });
    assert!(v2["data"].as_array().expect("a list").contains(&shown), "{v2}");
    let v3 = json_of(&server, "/nacos/v3/admin/ns/service/subscribers?serviceName=orders").await;
    assert_eq!(v3["data"]["totalCount"], 2, "{v3}");
    let by_v2 = Receiver::open("127.0.0.1").await;
    let query = format!("serviceName=orders&ip=127.0.0.1&port={}", by_v2.port());
    json_of(&server, &format!("/nacos/v2/ns/instance/list?{query}")).await;
    assert_eq!(by_v2.acked().await["name"], "DEFAULT_GROUP@@orders");
    let metrics = json_of(&server, "/nacos/v1/ns/operator/metrics?onlyStatus=false").await;
    assert_eq!(metrics["subscribeCount"], 3);
}

#[tokio::test]
async fn the_state_of_pushes_counts_both_protocols_and_can_be_reset() {
    let server = server().await;
    let (old, (peer, mut stream)) = (Receiver::open("127.0.0.1").await, Peer::naming(server.grpc_addr()).await);
    peer.subscribe("orders", "").await;
    stream.acked_push().await;
    old.poll(server.http_addr(), "orders").await;
    old.acked().await;
    let state = "/nacos/v1/ns/operator/push/state";
    eventually("both are acknowledged", async || json_of(&server, state).await["succeed"] == 2).await;
    let reset = json_of(&server, &format!("{state}?reset=true")).await;
    assert_eq!(reset, json!({ "succeed": 2, "total": 2, "ratio": 1.0, "reset": true }));
    assert_eq!(json_of(&server, state).await, json!({ "succeed": 0, "total": 0, "ratio": 0, "reset": false }));
}

#[tokio::test]
async fn beyond_the_limit_clients_are_answered_and_not_pushed_to() {
    let mut settings = Settings::default();
    settings.max_udp_subscriptions = 3;
    let server = Server::builder().settings(settings).start().await.expect("free ports");
    register(&server, "s4", 1, "").await;
    let receiver = Receiver::open("127.0.0.1").await;
    for service in ["s1", "s2", "s3", "s4"] {
        receiver.poll(server.http_addr(), service).await;
    }
    assert_eq!(server.counters().udp_refused, 1);
    assert_eq!(ports(&receiver.poll(server.http_addr(), "s4").await), [1]);
    let metrics = json_of(&server, "/nacos/v1/ns/operator/metrics?onlyStatus=false").await;
    assert_eq!(metrics["subscribeCount"], 3);
}

#[tokio::test]
async fn the_recorded_server_pushes_half_a_second_late_and_only_to_those_it_knows() {
    let server = Server::builder().behaviour(Behaviour::Nacos25).seed(1).start().await.expect("free ports");
    let mut stranger = Receiver::open("127.0.0.1").await;
    stranger.agent = "nacos-rust-client 0.3";
    stranger.poll(server.http_addr(), "orders").await;
    assert_eq!(server.counters().udp_refused, 1);
    let (first, second) = (Receiver::open("127.0.0.1").await, Receiver::open("127.0.0.1").await);
    for receiver in [&first, &second] {
        let start = Instant::now();
        receiver.poll(server.http_addr(), "orders").await;
        receiver.acked().await;
        assert!(start.elapsed() >= Duration::from_millis(490), "{:?}", start.elapsed());
    }
    for port in [1, 2] {
        register(&server, "orders", port, "").await;
    }
    assert_eq!(ports(&first.acked().await), [1, 2], "changes are merged");
    assert_eq!(ports(&second.acked().await), [1, 2]);
    assert_eq!(server.counters().udp_pushes, 4);
}

#[tokio::test]
async fn faults_reach_these_pushes_too() {
    let server = server().await;
    let receiver = Receiver::open("127.0.0.1").await;
    receiver.poll(server.http_addr(), "orders").await;
    receiver.acked().await;
    server.fault().hold_pushes();
    register(&server, "orders", 1, "").await;
    server.fault().deliver_pushes();
    assert_eq!(ports(&receiver.acked().await), [1]);
    server.fault().drop_pushes();
    register(&server, "orders", 2, "").await;
    eventually("it is lost", async || server.counters().pushes_dropped == 1).await;
    server.fault().deliver_pushes();
    server.fault().freeze();
    server.fault().thaw();
    register(&server, "orders", 3, "").await;
    assert_eq!(ports(&receiver.acked().await), [1, 2, 3]);
}
