//! Input that no client of good will sends. The server answers or drops it, and stays up.

use std::io::Write;
use std::time::Duration;

use bytes::Bytes;
use nacos_proto::{REQUEST_PATH, STREAM_PATH};
use nacos_server_min::{Server, Settings};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{PATIENCE, Peer, eventually, framed, instance, payload, setup};

async fn server() -> Server {
    Server::builder().start().await.expect("free ports")
}

async fn still_serves(server: &Server) {
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    assert_eq!(peer.register("alive", instance("10.0.0.1", 80)).await.codes(), ("InstanceResponse", 200, 0));
}

#[tokio::test]
async fn paths_methods_and_content_types() {
    let server = server().await;
    let peer = Peer::connect(server.grpc_addr()).await;
    let check = || vec![payload("ServerCheckRequest", "{}")];
    for (path, name) in [("/Request/Request", "Request/Request"), ("/Nope/request", "Nope/request"), ("/", "")] {
        let reply = peer.raw(path, &[], check()).await;
        assert_eq!((reply.grpc_status.as_str(), reply.grpc_message), ("12", format!("Method not found: {name}")));
    }
    let reply = peer.raw(REQUEST_PATH, &[("grpc-encoding", "snappy")], check()).await;
    assert_eq!(reply.grpc_status, "12");
    assert_eq!(peer.unary_text("ServerCheckRequest", "{}").await.grpc_status, "0");
    still_serves(&server).await;
}

#[tokio::test]
async fn bytes_that_are_no_message() {
    let server = server().await;
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    let status = async |chunks: Vec<Bytes>| peer.raw(REQUEST_PATH, &[], chunks).await.grpc_status;
    let whole = payload("HealthCheckRequest", "{}");
    assert_eq!(status(vec![framed(&[0xff, 0xff, 0xff])]).await, "2", "no protobuf");
    assert_eq!(status(vec![]).await, "13", "nothing");
    assert_eq!(status(vec![whole.slice(..3)]).await, "13", "cut in the prefix");
    assert_eq!(status(vec![whole.slice(..whole.len() - 1)]).await, "13", "cut in the message");
    assert_eq!(status(vec![whole.clone(), whole.clone()]).await, "13", "two messages");
    assert_eq!(status(vec![Bytes::from_static(&[1, 0, 0, 0, 1, 0])]).await, "13", "packed in nothing");
    assert_eq!(status(vec![Bytes::from_static(&[9, 0, 0, 0, 0])]).await, "13", "an unknown flag");
    let pieces = whole.iter().map(|byte| Bytes::copy_from_slice(&[*byte])).collect();
    assert_eq!(status(pieces).await, "0", "byte by byte is fine");
    assert_eq!(
        peer.raw(REQUEST_PATH, &[], vec![framed(&[])]).await.codes(),
        ("ErrorResponse", 500, 302),
        "an empty payload"
    );
    assert_eq!(peer.health().await.codes(), ("HealthCheckResponse", 200, 0), "the connection survives all of it");
}

#[tokio::test]
async fn large_messages() {
    let server = server().await;
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    let padded = |size: usize| payload("HealthCheckRequest", &json!({"pad": "x".repeat(size)}).to_string());
    let large = padded(11 * 1024 * 1024);
    let length = large.len() - 5;
    let reply = peer.raw(REQUEST_PATH, &[], vec![large]).await;
    assert_eq!(reply.grpc_status, "8");
    assert_eq!(reply.grpc_message, format!("gRPC message exceeds maximum size 10485760: {length}"));
    assert_eq!(peer.health().await.codes(), ("HealthCheckResponse", 200, 0), "the connection survives");
    let reply = peer.raw(REQUEST_PATH, &[], vec![padded(9 * 1024 * 1024)]).await;
    assert_eq!(reply.codes(), ("HealthCheckResponse", 200, 0));
    for name in ["s".repeat(1_000_000), "服".repeat(1_000_000)] {
        assert_eq!(peer.register(&name, instance("10.0.0.1", 80)).await.codes(), ("InstanceResponse", 500, 400));
        assert_eq!(peer.query(&name).await.codes(), ("QueryServiceResponse", 500, 400));
    }
    let mut long = instance("10.0.0.1", 80);
    long["ip"] = json!("i".repeat(1_000_000));
    assert_eq!(peer.register("orders", long).await.codes(), ("InstanceResponse", 500, 400));
}

#[tokio::test]
async fn half_received_large_messages_have_a_common_limit() {
    let mut settings = Settings::default();
    settings.max_buffered = 1024 * 1024;
    let server = Server::builder().settings(settings).start().await.expect("free ports");
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    let mut message = vec![0u8];
    message.extend((2 * 1024 * 1024u32).to_be_bytes());
    message.extend([0; 1_000]);
    let reply = peer.raw(REQUEST_PATH, &[], vec![message.into()]).await;
    assert_eq!(reply.grpc_status, "8");
    assert_eq!(peer.health().await.codes(), ("HealthCheckResponse", 200, 0));
}

#[tokio::test]
async fn packed_messages() {
    let server = server().await;
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    let pack = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).expect("memory");
        let packed = encoder.finish().expect("memory");
        let mut message = framed(&packed).to_vec();
        message[0] = 1;
        Bytes::from(message)
    };
    let gzip = [("grpc-encoding", "gzip")];
    let health = payload("HealthCheckRequest", "{}");
    let reply = peer.raw(REQUEST_PATH, &gzip, vec![pack(&health[5..])]).await;
    assert_eq!(reply.codes(), ("HealthCheckResponse", 200, 0));
    let bomb = pack(&vec![0; 50 * 1024 * 1024]);
    assert!(bomb.len() < 1024 * 1024);
    assert_eq!(peer.raw(REQUEST_PATH, &gzip, vec![bomb]).await.grpc_status, "8");
    let broken = Bytes::from_static(&[1, 0, 0, 0, 3, 1, 2, 3]);
    assert_eq!(peer.raw(REQUEST_PATH, &gzip, vec![broken]).await.grpc_status, "13");
    still_serves(&server).await;
}

#[tokio::test]
async fn deep_and_odd_json() {
    let server = server().await;
    let (peer, stream) = Peer::naming(server.grpc_addr()).await;
    let deep = "[".repeat(200_000);
    let types = [
        "InstanceRequest",
        "BatchInstanceRequest",
        "PersistentInstanceRequest",
        "ServiceQueryRequest",
        "SubscribeServiceRequest",
        "ServiceListRequest",
        "HealthCheckRequest",
    ];
    let bodies = [
        deep.as_str(),
        r#"{"instance":[[[[[]]]]]}"#,
        r#"{"serviceName":{},"groupName":[]}"#,
        r#"{"instances":{"a":1},"pageNo":"x","subscribe":"maybe","healthyOnly":[]}"#,
        r#"{"serviceName":"\ud800","groupName":"G"}"#,
        "{\"serviceName\":\"\u{0}\",\"groupName\":\"G\"}",
        r#"{"pageNo":1e999,"pageSize":-9223372036854775809}"#,
        "\u{feff}",
    ];
    for kind in types {
        for body in bodies {
            let reply = peer.unary_text(kind, body).await;
            assert_eq!(reply.grpc_status, "0", "{kind} {:.40}", body);
            assert!(
                ["ErrorResponse", "HealthCheckResponse"].contains(&reply.kind.as_str())
                    || reply.kind.ends_with("Response")
            );
            stream.send(kind, body);
        }
    }
    assert_eq!(peer.health().await.codes(), ("HealthCheckResponse", 200, 0));
}

#[tokio::test]
async fn streams_that_talk_nonsense() {
    let server = server().await;
    let peer = Peer::connect(server.grpc_addr()).await;
    let mut stream = peer.stream().await;
    stream.send("NotifySubscriberResponse", r#"{"requestId":"1"}"#);
    stream.send("InstanceRequest", "{}");
    assert_eq!(peer.health().await.codes(), ("ErrorResponse", 500, 301), "a message before the set-up is no set-up");
    stream.send_bytes(framed(&[0xff, 0xff]));
    assert_eq!(stream.next().await, None);
    assert_eq!(stream.status.as_deref(), Some("2"));
    let mut stream = peer.stream().await;
    stream.send("ConnectionSetupRequest", &setup().to_string());
    stream.send_bytes(Bytes::from_static(&[0, 0, 0, 1, 0]));
    stream.half_close();
    while stream.next().await.is_some() {}
    assert_eq!(stream.status.as_deref(), Some("13"));
    let reply = peer.raw(STREAM_PATH, &[("grpc-encoding", "snappy")], vec![]).await;
    assert_eq!(reply.grpc_status, "12");
    assert_eq!(peer.health().await.codes(), ("HealthCheckResponse", 200, 0), "the set-up before the nonsense counts");
}

#[tokio::test]
async fn set_ups_without_end_are_bounded() {
    let server = server().await;
    let (peer, stream) = Peer::naming(server.grpc_addr()).await;
    for _ in 0..5_000 {
        stream.send("ConnectionSetupRequest", &setup().to_string());
    }
    assert_eq!(peer.health().await.codes(), ("HealthCheckResponse", 200, 0));
    assert_eq!(server.counters().setups, 1);
}

async fn raw_connection(server: &Server, bytes: &[u8]) {
    let mut tcp = TcpStream::connect(server.grpc_addr()).await.expect("the server listens");
    tcp.write_all(bytes).await.expect("written");
    let mut rest = Vec::new();
    // Whether it is closed or reset, it is over.
    drop(tokio::time::timeout(PATIENCE, tcp.read_to_end(&mut rest)).await.expect("closed in time"));
}

#[tokio::test]
async fn other_protocols_are_turned_away() {
    let server = server().await;
    raw_connection(&server, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    raw_connection(&server, &[0x16, 0x03, 0x01, 0x02, 0x00, 0x01]).await;
    raw_connection(&server, &[0; 100]).await;
    raw_connection(&server, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff").await;
    eventually("nothing is left", || async { server.connections().is_empty() }).await;
    still_serves(&server).await;
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed() {
    let mut settings = Settings::default();
    settings.handshake_timeout = Duration::from_millis(50);
    let server = Server::builder().settings(settings).start().await.expect("free ports");
    raw_connection(&server, b"").await;
    eventually("nothing is left", || async { server.connections().is_empty() }).await;
}

#[tokio::test]
async fn a_form_that_stops_in_the_middle_ends_its_connection() {
    let mut settings = Settings::default();
    settings.unregistered_timeout = Duration::from_millis(50);
    let server = Server::builder().settings(settings).start().await.expect("free ports");
    let mut tcp = TcpStream::connect(server.http_addr()).await.expect("the server listens");
    let head = "POST /nacos/v1/ns/instance HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n";
    tcp.write_all(format!("{head}content-length: 100\r\n\r\nip=").as_bytes()).await.expect("written");
    let mut rest = Vec::new();
    // Whether it is closed or reset, it is over.
    drop(tokio::time::timeout(PATIENCE, tcp.read_to_end(&mut rest)).await.expect("closed in time"));
    still_serves(&server).await;
}

#[tokio::test]
async fn too_many_connections_are_turned_away_and_the_others_served() {
    let mut settings = Settings::default();
    settings.max_connections = 3;
    let server = Server::builder().settings(settings).start().await.expect("free ports");
    let mut peers = Vec::new();
    for _ in 0..3 {
        peers.push(Peer::naming(server.grpc_addr()).await);
    }
    raw_connection(&server, b"").await;
    assert_eq!(server.counters().connections_refused, 1);
    for (peer, _) in &peers {
        assert_eq!(peer.health().await.codes(), ("HealthCheckResponse", 200, 0));
    }
    peers.pop();
    eventually("there is room again", || async { server.connections().len() == 2 }).await;
    still_serves(&server).await;
}

#[tokio::test]
async fn a_client_that_vanishes_in_the_middle_of_requests_leaves_nothing() {
    let server = server().await;
    for _ in 0..20 {
        let (peer, stream) = Peer::naming(server.grpc_addr()).await;
        let requests: Vec<_> = (0..50u16)
            .map(|port| {
                let service = format!("s{port}");
                let peer = &peer;
                async move { peer.register(&service, instance("10.0.0.1", port)).await }
            })
            .collect();
        // Some are answered, some are under way, some were never sent.
        drop(tokio::time::timeout(Duration::from_millis(1), futures(requests)).await);
        drop((peer, stream));
    }
    eventually("all connections are gone", || async { server.connections().is_empty() }).await;
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    for port in 0..50 {
        assert!(peer.query(&format!("s{port}")).await.hosts().is_empty());
    }
}

async fn futures<F: Future>(all: Vec<F>) {
    for one in all {
        one.await;
    }
}
