//! The HTTP port on threads of its own.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use nacos_server_min::{Server, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::http::call;
use crate::support::{PATIENCE, Peer, eventually, ports};

const LIST: &str = "GET /nacos/v1/ns/instance/list?serviceName=orders HTTP/1.1\r\nhost: h\r\n\r\n";

async fn server() -> Server {
    let mut settings = Settings::default();
    settings.shutdown_grace = Duration::from_millis(500);
    Server::builder().settings(settings).http_threads(2).start().await.expect("free ports")
}

async fn open(addr: SocketAddr) -> TcpStream {
    TcpStream::connect(addr).await.expect("it listens")
}

/// Asks on a kept connection; empty if it is closed.
async fn ask(tcp: &mut TcpStream, request: &str) -> String {
    tcp.write_all(request.as_bytes()).await.expect("written");
    read(tcp).await
}

async fn read(tcp: &mut TcpStream) -> String {
    let mut answer = vec![0; 64 * 1024];
    let length = timeout(PATIENCE, tcp.read(&mut answer)).await.expect("in time").unwrap_or(0);
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

#[tokio::test]
async fn all_connections_see_the_same_and_subscribers_by_grpc_hear_of_it() {
    let server = server().await;
    let (peer, mut stream) = Peer::naming(server.grpc_addr()).await;
    peer.subscribe("orders", "").await;
    stream.acked_push().await;
    let mut kept = Vec::new();
    for port in 1..=6 {
        let mut tcp = open(server.http_addr()).await;
        let path = format!("/nacos/v1/ns/instance?serviceName=orders&ip=10.0.0.1&port={port}");
        let answer = ask(&mut tcp, &format!("POST {path} HTTP/1.1\r\nhost: h\r\n\r\n")).await;
        assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
        kept.push(tcp);
    }
    for tcp in &mut kept {
        let list = ask(tcp, LIST).await;
        assert_eq!(list.matches("\"port\":").count(), 6, "{list}");
    }
    while ports(&stream.acked_push().await) != [1, 2, 3, 4, 5, 6] {}
}

#[tokio::test]
async fn faults_reach_them() {
    let server = server().await;
    let mut kept = [open(server.http_addr()).await, open(server.http_addr()).await];
    for tcp in &mut kept {
        assert!(ask(tcp, LIST).await.starts_with("HTTP/1.1 200"));
    }
    server.fault().freeze();
    for tcp in &mut kept {
        tcp.write_all(LIST.as_bytes()).await.expect("written");
        let silent = timeout(Duration::from_millis(50), tcp.readable()).await;
        assert!(silent.is_err(), "frozen");
    }
    server.fault().thaw();
    for tcp in &mut kept {
        assert!(read(tcp).await.starts_with("HTTP/1.1 200"));
    }
    server.fault().kill_connections();
    for tcp in &mut kept {
        assert_eq!(read(tcp).await, "");
    }
    assert_eq!(call(server.http_addr(), "GET", "/nacos/v1/console/health/readiness", None).await.0, 200);
}

#[tokio::test]
async fn a_shutdown_ends_them_and_frees_the_port_for_the_next() {
    let mut server = server().await;
    let port = server.http_addr().port();
    for _ in 0..3 {
        let mut idle = open(server.http_addr()).await;
        assert!(ask(&mut idle, LIST).await.starts_with("HTTP/1.1 200"));
        server.shutdown().await;
        assert_eq!(read(&mut idle).await, "");
        server = Server::builder().port(port).http_threads(2).start().await.expect("the port is free again");
    }
    // One that will never be answered is not waited for longer than the grace.
    let mut stuck = open(server.http_addr()).await;
    assert!(ask(&mut stuck, LIST).await.starts_with("HTTP/1.1 200"));
    server.fault().freeze();
    stuck.write_all(LIST.as_bytes()).await.expect("written");
    let start = Instant::now();
    server.shutdown().await;
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_dropped_server_leaves_none() {
    let server = server().await;
    let addr = server.http_addr();
    let mut tcp = open(addr).await;
    assert!(ask(&mut tcp, LIST).await.starts_with("HTTP/1.1 200"));
    drop(server);
    assert_eq!(read(&mut tcp).await, "");
    eventually("the port is free", || async { TcpListener::bind(addr).await.is_ok() }).await;
}
