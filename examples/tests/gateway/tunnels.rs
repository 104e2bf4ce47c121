//! WebSockets through the gateway.

use std::time::{Duration, Instant};

use examples::gateway::GatewayLimits;
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async, client_async};
use tokio_util::sync::CancellationToken;

use crate::support::*;

/// An instance that says everything again until it is told to close; `ended` is told of the end of its last connection.
async fn echo(ended: CancellationToken) -> std::net::SocketAddr {
    let (listener, address) = listen().await;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let ended = ended.clone();
            tokio::spawn(async move {
                let mut socket = accept_hdr_async(stream, checked).await.expect("a handshake");
                while let Some(Ok(message)) = socket.next().await {
                    if (message.is_text() || message.is_binary()) && socket.send(message).await.is_err() {
                        break;
                    }
                }
                ended.cancel();
            });
        }
    });
    address
}

#[expect(clippy::result_large_err, reason = "it is how the library asks")]
fn checked(request: &Request, mut response: Response) -> Result<Response, ErrorResponse> {
    assert_eq!(request.uri(), "/ws/a%20b?q=1");
    assert_eq!(request.headers()["x-forwarded-host"], "shop.example");
    response.headers_mut().insert("x-from", "the instance".parse().expect("a value"));
    Ok(response)
}

async fn connect(world: &World) -> WebSocketStream<TcpStream> {
    let stream = TcpStream::connect(world.address).await.expect("it listens");
    let uri = format!("ws://shop.example/{SERVICE}/ws/a%20b?q=1");
    let (socket, response) = in_time(client_async(uri, stream)).await.expect("a handshake");
    assert_eq!(response.headers()["x-from"], "the instance");
    socket
}

#[tokio::test]
async fn gw6_a_websocket_goes_through_and_ends_for_both_when_one_ends_it() {
    let ended = CancellationToken::new();
    let world = World::before([echo(ended.clone()).await]).await;
    let mut socket = connect(&world).await;
    for size in [0, 1, 125, 126, 70_000, 1 << 20] {
        let message = Message::binary(vec![7; size]);
        socket.send(message.clone()).await.unwrap();
        assert_eq!(in_time(socket.next()).await.unwrap().unwrap(), message);
    }
    socket.close(None).await.unwrap();
    while in_time(socket.next()).await.is_some() {}
    in_time(ended.cancelled()).await;

    let abandoned = CancellationToken::new();
    let world = World::before([echo(abandoned.clone()).await]).await;
    let mut socket = connect(&world).await;
    socket.send(Message::text("here")).await.unwrap();
    assert_eq!(in_time(socket.next()).await.unwrap().unwrap(), Message::text("here"));
    drop(socket);
    in_time(abandoned.cancelled()).await;
}

#[tokio::test]
async fn a_gateway_that_ends_takes_its_websockets_along() {
    let ended = CancellationToken::new();
    let world = World::before([echo(ended.clone()).await]).await;
    let mut socket = connect(&world).await;
    socket.send(Message::text("here")).await.unwrap();
    assert_eq!(in_time(socket.next()).await.unwrap().unwrap(), Message::text("here"));
    drop(world);
    in_time(ended.cancelled()).await;
    assert!(!matches!(in_time(socket.next()).await, Some(Ok(_))));
}

#[tokio::test]
async fn an_instance_may_refuse_a_websocket_and_may_not_begin_one() {
    let refusal = b"HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno";
    let (instance, served) = answering(refusal).await;
    let world = World::before([instance]).await;
    let ask = "connection: Upgrade, close\r\nupgrade: WebSocket\r\nsec-websocket-version: 13\r\n\
        sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let asked = format!("GET /{SERVICE}/ HTTP/1.1\r\nhost: h\r\n{ask}\r\n");
    let answer = raw(world.address, &asked).await;
    assert!(answer.starts_with("HTTP/1.1 403") && answer.ends_with("no"), "{answer}");
    let head = served.await.unwrap();
    assert!(head.contains("connection: upgrade\r\n") && head.contains("upgrade: websocket\r\n"), "{head}");

    for (protocol, request) in [("h2c", asked.as_str()), ("websocket", "plain")] {
        let switch = format!("HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: {protocol}\r\n\r\n");
        let (instance, _served) = answering(switch.leak().as_bytes()).await;
        let world = World::before([instance]).await;
        let plain = format!("GET /{SERVICE}/ HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n");
        let answer = raw(world.address, if request == "plain" { &plain } else { request }).await;
        assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
    }
}

/// Both ends of a tunnel, the caller's first. Neither knows what is spoken on it.
async fn ends(world: &World, listener: &tokio::net::TcpListener) -> (TcpStream, TcpStream) {
    let mut caller = TcpStream::connect(world.address).await.expect("it listens");
    let ask = format!("GET /{SERVICE}/ HTTP/1.1\r\nhost: h\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n");
    caller.write_all(ask.as_bytes()).await.expect("it is taken");
    let (mut instance, _) = in_time(listener.accept()).await.expect("a connection");
    read_head(&mut instance).await;
    let agreed = b"HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
    instance.write_all(agreed).await.expect("it is taken");
    assert!(read_head(&mut caller).await.starts_with("HTTP/1.1 101"));
    (caller, instance)
}

/// What comes until the end.
async fn rest(stream: &mut TcpStream) -> String {
    let mut rest = String::new();
    in_time(stream.read_to_string(&mut rest)).await.expect("an end");
    rest
}

#[tokio::test]
async fn a_tunnel_ends_for_both_when_one_side_ends_and_the_other_stays() {
    let (listener, address) = listen().await;
    let world = World::before([address]).await;
    for caller_ends in [true, false] {
        let (caller, instance) = ends(&world, &listener).await;
        let (mut ending, mut staying) = if caller_ends { (caller, instance) } else { (instance, caller) };
        ending.write_all(b"the last word").await.unwrap();
        ending.shutdown().await.unwrap();
        assert_eq!(rest(&mut staying).await, "the last word");
        staying.write_all(b"still here").await.unwrap();
        // The side that stays closes nothing, and yet this ends.
        assert_eq!(rest(&mut ending).await, "still here", "{caller_ends}");
    }
}

#[tokio::test]
async fn a_tunnel_ends_when_both_sides_are_silent_and_not_before() {
    let idle = Duration::from_millis(500);
    let (listener, address) = listen().await;
    let world = World::with(GatewayLimits { tunnel_idle: idle, ..GatewayLimits::default() }, [address]).await;
    let (mut caller, mut instance) = ends(&world, &listener).await;
    let began = Instant::now();
    while began.elapsed() < 3 * idle {
        // Only one of them speaks.
        instance.write_all(b"tick").await.unwrap();
        let mut told = [0; 4];
        in_time(caller.read_exact(&mut told)).await.unwrap();
        assert_eq!(&told, b"tick");
    }
    let silent = Instant::now();
    assert_eq!(rest(&mut caller).await, "");
    assert!(silent.elapsed() > idle / 2, "{:?}", silent.elapsed());
    assert_eq!(rest(&mut instance).await, "");
}
