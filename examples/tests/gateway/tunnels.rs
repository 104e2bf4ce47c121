//! WebSockets through the gateway.

use futures_util::{SinkExt, StreamExt};
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
