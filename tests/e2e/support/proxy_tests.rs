use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::proxy::{Flow, Proxy, Way};
use super::wait::{in_time, wait_until};

/// Long enough for anything on loopback to arrive.
const NOTHING: Duration = Duration::from_millis(50);

/// A server that says everything back.
async fn echo() -> (SocketAddr, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    // Ends with the test.
    let task = tokio::spawn(async move {
        let mut connections = tokio::task::JoinSet::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            connections.spawn(async move {
                let (mut from, mut to) = stream.split();
                drop(tokio::io::copy(&mut from, &mut to).await);
                drop(to.shutdown().await);
            });
        }
    });
    (address, AbortOnDropHandle::new(task))
}

async fn say(stream: &mut TcpStream, text: &str) -> String {
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut heard = vec![0; text.len()];
    in_time("the echo", stream.read_exact(&mut heard)).await.unwrap();
    String::from_utf8(heard).unwrap()
}

async fn is_silent(stream: &mut TcpStream) -> bool {
    timeout(NOTHING, stream.read_u8()).await.is_err()
}

#[tokio::test]
async fn proxy_relays_and_counts() {
    let (target, _echo) = echo().await;
    let proxy = Proxy::to(target).await;
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(say(&mut stream, "hello").await, "hello");
    assert_eq!((proxy.accepted(), proxy.open()), (1, 1));
    drop(stream);
    wait_until("the connection is gone", || proxy.open() == 0).await;
}

#[tokio::test]
async fn proxy_refuses_and_keeps_its_port() {
    let (target, _echo) = echo().await;
    let proxy = Proxy::closed().await;
    for _ in 0..3 {
        let refused = TcpStream::connect(proxy.address()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        proxy.retarget(target);
        proxy.accept().await;
        let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
        assert_eq!(say(&mut stream, "back").await, "back");
        proxy.refuse().await;
        assert_eq!(say(&mut stream, "still there").await, "still there");
    }
}

#[tokio::test]
async fn proxy_holds_what_a_black_hole_swallows_until_it_heals() {
    let (target, _echo) = echo().await;
    let proxy = Proxy::to(target).await;
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(say(&mut stream, "a").await, "a");
    for way in [Way::ToServer, Way::ToClient] {
        proxy.flow(way, Flow::BlackHole);
        stream.write_all(b"b").await.unwrap();
        assert!(is_silent(&mut stream).await, "{way:?}");
        proxy.flow(way, Flow::Pass);
        assert_eq!(in_time("what was held", stream.read_u8()).await.unwrap(), b'b');
    }
}

#[tokio::test]
async fn proxy_resets_closes_and_half_closes() {
    let (target, _echo) = echo().await;
    let proxy = Proxy::to(target).await;
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(say(&mut stream, "a").await, "a");
    proxy.reset_connections();
    assert_eq!(in_time("the reset", stream.read_u8()).await.unwrap_err().kind(), ErrorKind::ConnectionReset);

    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(say(&mut stream, "a").await, "a");
    proxy.close_connections();
    assert_eq!(in_time("the end", stream.read_u8()).await.unwrap_err().kind(), ErrorKind::UnexpectedEof);

    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(say(&mut stream, "a").await, "a");
    proxy.flow(Way::ToClient, Flow::HalfClosed);
    assert_eq!(in_time("the end", stream.read_u8()).await.unwrap_err().kind(), ErrorKind::UnexpectedEof);
    stream.write_all(b"b").await.unwrap();
    assert_eq!(proxy.open(), 1, "the other half goes on");

    proxy.slam().await;
    let heard = match TcpStream::connect(proxy.address()).await {
        Ok(mut stream) => in_time("the reset", stream.read_u8()).await.map(drop),
        Err(e) => Err(e),
    };
    assert_eq!(heard.unwrap_err().kind(), ErrorKind::ConnectionReset);

    proxy.be_silent().await;
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    stream.write_all(b"hello?").await.unwrap();
    assert!(is_silent(&mut stream).await);
}

#[tokio::test]
async fn proxy_drips_and_delays() {
    let (target, _echo) = echo().await;
    let proxy = Proxy::to(target).await;
    proxy.flow(Way::ToClient, Flow::Drip(Duration::from_millis(2)));
    proxy.flow(Way::ToServer, Flow::Late(Duration::from_millis(2)));
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    stream.write_all(b"hello").await.unwrap();
    let mut pieces = Vec::new();
    while pieces.iter().sum::<usize>() < 5 {
        let mut buffer = [0; 5];
        pieces.push(in_time("a drop", stream.read(&mut buffer)).await.unwrap());
    }
    assert!(pieces.len() > 1, "{pieces:?}");
}
