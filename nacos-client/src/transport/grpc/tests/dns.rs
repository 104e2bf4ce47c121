//! Names whose addresses change, over real sockets.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::net::TcpListener;

use crate::{
    servers::{Resolve, TcpConnector},
    transport::{
        Event, EventHandler, LinkFault, NamingTransport,
        grpc::{GrpcTransport, testing::settings},
    },
};

/// Answers with what it was last told.
#[derive(Debug, Default)]
struct FakeDns(Mutex<Vec<SocketAddr>>);

impl Resolve for FakeDns {
    fn resolve(&self, host: String, port: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        assert_eq!((host.as_str(), port), ("nacos.example", 9848));
        let addresses = self.0.lock().unwrap().clone();
        Box::pin(async move { Ok(addresses) })
    }
}

struct Ignore;

impl EventHandler for Ignore {
    fn handle(&self, _: Event) {}
}

async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), work).await.expect("within 20 s")
}

#[tokio::test]
async fn g14_cg12_a_name_is_resolved_for_every_attempt_and_all_its_addresses_are_tried() {
    let listen = || async { TcpListener::bind("127.0.0.1:0").await.unwrap() };
    let (a, b, closed) = (listen().await, listen().await, listen().await);
    let dead = closed.local_addr().unwrap();
    drop(closed);
    let dns = Arc::new(FakeDns::default());
    let tell = |addresses: &[SocketAddr]| addresses.clone_into(&mut dns.0.lock().unwrap());
    tell(&[]);
    let connector = TcpConnector::new(Arc::clone(&dns) as Arc<dyn Resolve>);
    let transport = GrpcTransport::with_connector(settings(&["nacos.example"]), Arc::new(connector));
    let mut status = transport.status();
    transport.start(Arc::new(Ignore)).unwrap();
    let unknown = |fault: &LinkFault| matches!(fault, LinkFault::Resolve(_));
    within(status.wait_for(|s| s.last_error.as_ref().is_some_and(|e| unknown(&e.fault)))).await.unwrap();

    tell(&[dead, a.local_addr().unwrap()]);
    drop(within(a.accept()).await.unwrap());
    tell(&[b.local_addr().unwrap()]);
    within(b.accept()).await.unwrap();
    assert!(within(transport.close(Duration::from_secs(2))).await);
}

#[tokio::test]
async fn a_server_that_speaks_something_else_is_an_error_that_names_it() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let transport = GrpcTransport::new(settings(&[&format!("127.0.0.1?grpc_port={port}")]));
    let mut status = transport.status();
    transport.start(Arc::new(Ignore)).unwrap();
    let (mut socket, _) = within(listener.accept()).await.unwrap();
    let http1 = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
    tokio::io::AsyncWriteExt::write_all(&mut socket, http1).await.unwrap();
    let seen = within(status.wait_for(|s| s.last_error.is_some())).await.unwrap().last_error.clone().unwrap();
    assert_eq!(&*seen.peer, format!("127.0.0.1:{port}"));
    assert!(matches!(seen.fault, LinkFault::SetupCut(Some(_))), "{seen:?}");
    assert!(seen.to_string().contains("is this the gRPC port of a Nacos server?"), "{seen}");
}
