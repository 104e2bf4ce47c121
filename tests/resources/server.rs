//! What a server takes: for changes of large services, and for clients that are broken or mean no good.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use nacos_proto::grpc::{
    BATCH_REGISTER, BatchInstanceRequest, BatchInstanceResponse, ConnectionSetupRequest, Instance as WireInstance,
    InstanceRequest, InstanceResponse, Message, REGISTER, Response, ServerCheckRequest, ServerCheckResponse,
};
use nacos_proto::{Payload, REQUEST_PATH, STREAM_PATH};
use nacos_server_min::{Server, Settings};
use nacos_tests::http::{self, Call};
use nacos_tests::raw::Connection;
use prost::Message as _;
use stats_alloc::Region;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use self::attacker::{Attacker, PREFACE};
use super::{ALLOCATOR, heap, run, wait_until};

#[path = "../e2e/support/attacker.rs"]
#[allow(dead_code, reason = "only a part of it is used here")]
mod attacker;
#[path = "../e2e/support/wait.rs"]
#[allow(dead_code, reason = "only a part of it is used here")]
mod wait;

/// Kinds of HTTP/2 frames, and a flag.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const END_HEADERS: u8 = 4;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

async fn server() -> Server {
    Server::builder().start().await.expect("free ports are to be had")
}

/// One that gives nobody up, however long the test takes.
async fn patient_server() -> Server {
    const HOUR: Duration = Duration::from_secs(3_600);
    let mut settings = Settings::default();
    (settings.detection_idle, settings.stalled_timeout) = (HOUR, HOUR);
    (settings.push_ack_timeout, settings.push_retry_delay, settings.push_max_delay) = (HOUR, HOUR, HOUR);
    Server::builder().settings(settings).start().await.expect("free ports are to be had")
}

/// A connection that may publish.
async fn writer(server: &Server) -> Connection {
    let mut connection =
        Connection::open(server.grpc_addr(), Arc::new(|_: &Payload| None)).await.expect("the server listens");
    connection.open_stream("stream").await;
    let labels = [("source", "sdk"), ("module", "naming")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    let setup = ConnectionSetupRequest { labels: Some(labels.into()), ..ConnectionSetupRequest::default() };
    connection.send("stream", &Payload::encode_json(&setup));
    call::<_, ServerCheckResponse>(&connection, &ServerCheckRequest::default()).await;
    wait_until("it is set up", || server.connections().iter().any(|c| c.registered)).await;
    connection
}

async fn call<M: Message, R: Response>(connection: &Connection, request: &M) -> R {
    let bytes = Payload::encode_json(request).encode_to_vec();
    let answer = connection.call(REQUEST_PATH, &bytes, false).await.expect("an answer");
    Payload::decode(answer).expect("a payload").decode_response().expect("a success")
}

fn instance(port: usize, round: usize) -> WireInstance {
    WireInstance {
        ip: Some("10.1.1.1".to_owned()),
        port: i32::try_from(port).expect("a port"),
        metadata: [("round".to_owned(), format!("{round:09}"))].into_iter().collect(),
        ..WireInstance::default()
    }
}

async fn publish_many(connection: &Connection, service: &str, count: usize) {
    let batch = BatchInstanceRequest {
        namespace: Some("public".to_owned()),
        service_name: Some(service.to_owned()),
        group_name: Some("DEFAULT_GROUP".to_owned()),
        kind: Some(BATCH_REGISTER.to_owned()),
        instances: Some((1..=count).map(|port| Some(instance(port, 0))).collect()),
    };
    call::<_, BatchInstanceResponse>(connection, &batch).await;
}

async fn register(connection: &Connection, service: &str, round: usize) {
    let request = InstanceRequest {
        namespace: Some("public".to_owned()),
        service_name: Some(service.to_owned()),
        group_name: Some("DEFAULT_GROUP".to_owned()),
        kind: Some(REGISTER.to_owned()),
        instance: Some(instance(60_000, round)),
    };
    call::<_, InstanceResponse>(connection, &request).await;
}

/// Changes the service so often, with several calls under way at a time.
async fn change(connection: &Connection, service: &str, times: usize) {
    stream::iter(0..times).for_each_concurrent(16, |round| register(connection, service, round)).await;
}

#[test]
fn g19_a_subscriber_that_stopped_reading_costs_the_same_after_any_number_of_changes() {
    // A night may take a hundred thousand and more.
    let changes = std::env::var("NACOS_TEST_CHANGES").ok().and_then(|text| text.parse().ok()).unwrap_or(5_000);
    run(async {
        let server = patient_server().await;
        let (many, one) = (writer(&server).await, writer(&server).await);
        // A list of some 40 KB.
        publish_many(&many, "orders", 100).await;
        let mut deaf = Attacker::connect(server.grpc_addr()).await;
        deaf.set_up().await;
        deaf.subscribe("orders").await;
        change(&one, "orders", 500).await;
        let before = heap();
        change(&one, "orders", changes).await;
        let grown = heap().saturating_sub(before);
        assert!(grown < MIB, "{grown} bytes more after {changes} changes");
        assert_eq!(server.connections().len(), 3, "it is still there");
    });
}

#[test]
fn a_change_of_a_huge_service_takes_what_one_of_a_small_service_takes() {
    run(async {
        let server = server().await;
        let (many, one) = (writer(&server).await, writer(&server).await);
        let mut taken = Vec::new();
        for size in [10, 10_000] {
            let service = format!("orders-{size}");
            publish_many(&many, &service, size).await;
            change(&one, &service, 100).await;
            let region = Region::new(ALLOCATOR);
            change(&one, &service, 500).await;
            taken.push(region.change().bytes_allocated);
        }
        assert!(taken[1] <= 2 * taken[0], "{taken:?} bytes for 500 changes of 10 and of 10 000 instances");
    });
}

/// The frames of a client that opens its stream and sets up, for a peer that only ever writes them.
fn set_up_frames() -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).expect("it is short")], text.as_bytes()].concat();
    // `:method POST`, `:scheme http`, then headers that nobody is to remember.
    let mut block = vec![0x83, 0x86, 0x04];
    block.extend(text(STREAM_PATH));
    for (name, value) in [("content-type", "application/grpc"), ("te", "trailers")] {
        block.push(0);
        block.extend([text(name), text(value)].concat());
    }
    let labels = [("source", "sdk"), ("module", "naming")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    let setup = ConnectionSetupRequest { labels: Some(labels.into()), ..ConnectionSetupRequest::default() };
    let message = Payload::encode_json(&setup).encode_to_vec();
    let length = u32::try_from(message.len()).expect("it is short").to_be_bytes();
    let data = [&[0], &length[..], &message].concat();
    [PREFACE, &attacker::frame(HEADERS, END_HEADERS, 1, &block), &attacker::frame(DATA, 0, 1, &data)].concat()
}

#[test]
fn an_idle_connection_takes_little_more_than_its_http2_buffers() {
    const MANY: usize = 1_000;
    run(async {
        let server = server().await;
        let frames = set_up_frames();
        let connect = async || {
            let mut tcp = TcpStream::connect(server.grpc_addr()).await.expect("the server listens");
            tcp.write_all(&frames).await.expect("the server reads");
            tcp
        };
        let registered = || server.connections().iter().filter(|c| c.registered).count();
        let first = connect().await;
        wait_until("the first one is set up", || registered() == 1).await;
        let before = heap();
        let mut idle = vec![first];
        for _ in 0..MANY {
            idle.push(connect().await);
        }
        wait_until("all are set up", || registered() == MANY + 1).await;
        let each = heap().saturating_sub(before) / MANY;
        // Of this, 28 KiB are the buffers that the HTTP/2 implementation has for each connection, most of them never touched.
        assert!(each < 40 * KIB, "{each} bytes for each connection");
    });
}

#[test]
fn connections_that_never_finish_their_set_up_take_little() {
    // A night may take ten thousand; each is two open files of this process.
    let many = std::env::var("NACOS_TEST_CONNECTIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000);
    run(async {
        let server = server().await;
        let before = heap();
        let mut begun = Vec::new();
        for _ in 0..many {
            let mut tcp = TcpStream::connect(server.grpc_addr()).await.expect("the server listens");
            tcp.write_all(PREFACE).await.expect("the server reads");
            begun.push(tcp);
        }
        wait_until("all are accepted", || server.connections().len() == many).await;
        let each = heap().saturating_sub(before) / many;
        assert!(each < 48 * KIB, "{each} bytes for each connection");
        drop(begun);
        wait_until("all have gone", || server.connections().is_empty()).await;
        let left = heap().saturating_sub(before);
        assert!(left < MIB, "{left} bytes are left of them");
    });
}

/// Asks for the list of `orders` as a client of the 1.x protocol does that reads pushes at this port.
async fn poll(server: &Server, port: usize) {
    let query = format!("serviceName=orders&clientIP=127.0.0.1&app=shop&udpPort={port}");
    let call = Call { method: "GET", path: "/nacos/v1/ns/instance/list", query: &query, ..Call::default() };
    let agent = [("user-agent", "Nacos-Java-Client:v1.4.8")];
    assert_eq!(http::call_with(server.http_addr(), call, agent).await.expect("an answer").status, 200);
}

#[test]
fn h08_subscribers_by_udp_cost_little_and_share_one_list_however_often_it_changes() {
    const SUBSCRIBERS: usize = 400;
    run(async {
        let at_first = heap();
        let mut settings = Settings::default();
        // Nobody answers, and nobody is to be forgotten for that.
        settings.udp_ack_timeout = Duration::from_secs(600);
        settings.udp_subscription_timeout = Duration::from_secs(600);
        let server = Server::builder().settings(settings).start().await.expect("free ports are to be had");
        let (many, one) = (writer(&server).await, writer(&server).await);
        publish_many(&many, "orders", 100).await;
        poll(&server, 1).await;
        let before = heap();
        for port in 2..SUBSCRIBERS + 2 {
            poll(&server, port).await;
        }
        wait_until("all have been sent a list", || server.counters().udp_pushes > SUBSCRIBERS as u64).await;
        let each = heap().saturating_sub(before) / SUBSCRIBERS;
        assert!(each <= KIB, "{each} bytes for each subscriber");
        change(&one, "orders", 50).await;
        let before = heap();
        change(&one, "orders", 500).await;
        let grown = heap().saturating_sub(before);
        assert!(grown <= 64 * KIB, "{} KiB after 500 changes that nobody acknowledged", grown / KIB);
        assert!(server.counters().udp_pushes > 2 * SUBSCRIBERS as u64, "and they were sent");
        assert_eq!((server.counters().udp_failed, server.counters().udp_refused), (0, 0));
        drop((many, one));
        server.shutdown().await;
        let left = heap().saturating_sub(at_first);
        assert!(left <= 64 * KIB, "{} KiB are left of the server", left / KIB);
    });
}
