//! Starting, stopping and starting again.

use std::time::{Duration, Instant};

use nacos_server_min::{Server, Settings, StartError};
use tokio::net::TcpListener;

use crate::support::{Peer, eventually, instance};

#[tokio::test]
async fn a_server_can_be_started_again_on_its_port_at_once() {
    let mut server = Server::builder().start().await.expect("free ports");
    let port = server.http_addr().port();
    assert_eq!(server.server_addr(), format!("127.0.0.1:{port}"));
    assert_eq!(server.grpc_addr().port(), port + 1000);
    for _ in 0..5 {
        let (peer, mut stream) = Peer::naming(server.grpc_addr()).await;
        peer.register("orders", instance("10.0.0.1", 1)).await;
        server.shutdown().await;
        assert_eq!(stream.next().await, None, "streams are ended");
        server = Server::builder().port(port).start().await.expect("the port is free again");
        let (fresh, _stream) = Peer::naming(server.grpc_addr()).await;
        assert!(fresh.query("orders").await.hosts().is_empty(), "it starts empty");
    }
    server.shutdown().await;
}

#[tokio::test]
async fn a_taken_port_is_named_and_nothing_is_left_behind() {
    let server = Server::builder().start().await.expect("free ports");
    let port = server.http_addr().port();
    match Server::builder().port(port).start().await {
        Err(StartError::PortTaken { addr }) => assert_eq!(addr.port(), port),
        other => panic!("expected a taken port, got {other:?}"),
    }
    server.shutdown().await;
    let Ok(holder) = TcpListener::bind(("127.0.0.1", port + 1001)).await else { panic!("the port was just freed") };
    match Server::builder().port(port).start().await {
        Err(StartError::PortTaken { addr }) => assert_eq!(addr.port(), port + 1001),
        other => panic!("expected a taken port, got {other:?}"),
    }
    drop(holder);
    Server::builder().port(port).start().await.expect("the two ports before it were given back").shutdown().await;
}

#[tokio::test]
async fn the_cluster_port_is_taken_and_turns_everybody_away() {
    let server = Server::builder().start().await.expect("free ports");
    let port = server.http_addr().port() + 1001;
    assert!(TcpListener::bind(("127.0.0.1", port)).await.is_err());
    let tcp = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.expect("it accepts");
    let mut byte = [0];
    let read = tokio::time::timeout(Duration::from_secs(5), async {
        tcp.readable().await.expect("closed, hence readable");
        tcp.try_read(&mut byte)
    });
    assert!(matches!(read.await.expect("at once"), Ok(0) | Err(_)));
}

#[tokio::test]
async fn a_shutdown_is_bounded_even_if_nothing_moves() {
    let mut settings = Settings::default();
    settings.shutdown_grace = Duration::from_millis(100);
    let server = Server::builder().settings(settings).start().await.expect("free ports");
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    server.fault().freeze();
    drop(tokio::time::timeout(Duration::from_millis(20), peer.health()).await);
    let start = Instant::now();
    server.shutdown().await;
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_dropped_server_is_gone() {
    let server = Server::builder().start().await.expect("free ports");
    let addr = server.grpc_addr();
    let (_peer, mut stream) = Peer::naming(addr).await;
    drop(server);
    assert_eq!(stream.next().await, None);
    eventually("the port is free", || async { TcpListener::bind(addr).await.is_ok() }).await;
}

#[tokio::test]
async fn servers_and_bad_settings() {
    let mut settings = Settings::default();
    settings.detection_idle = Duration::ZERO;
    assert!(matches!(Server::builder().settings(settings).start().await, Err(StartError::Settings(_))));
    assert!(matches!(Server::builder().host("no such host").start().await, Err(StartError::Host { .. })));
    assert!(matches!(Server::builder().port(65_000).start().await, Err(StartError::Listen { .. })));
    let (a, b) = tokio::join!(Server::builder().start(), Server::builder().host("localhost").start());
    let (a, b) = (a.expect("free ports"), b.expect("free ports"));
    assert_ne!(a.http_addr(), b.http_addr());
}

#[tokio::test]
async fn empty_services_are_forgotten_and_their_subscriptions_are_not() {
    let mut settings = Settings::default();
    settings.empty_service_after = Duration::ZERO;
    settings.clean_interval = Duration::from_millis(20);
    let server = Server::builder().settings(settings).start().await.expect("free ports");
    let (peer, mut stream) = Peer::naming(server.grpc_addr()).await;
    peer.subscribe("orders", "").await;
    stream.acked_push().await;
    peer.register("orders", instance("10.0.0.1", 1)).await;
    stream.acked_push().await;
    peer.deregister("orders", instance("10.0.0.1", 1)).await;
    stream.acked_push().await;
    let page = crate::support::named("", serde_json::json!({"pageNo": 1, "pageSize": 10}));
    let count = || async { peer.unary("ServiceListRequest", &page).await.body["count"] == 0 };
    eventually("the empty service is no longer listed", count).await;
    peer.register("orders", instance("10.0.0.1", 2)).await;
    assert_eq!(crate::support::ports(&stream.acked_push().await), [2]);
}
