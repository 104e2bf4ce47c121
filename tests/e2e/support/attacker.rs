//! HTTP/2 connections that do with the protocol what no client of good will does.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use http::Request;
use nacos_proto::grpc::{ConnectionSetupRequest, Message, SubscribeServiceRequest};
use nacos_proto::{Payload, REQUEST_PATH, STREAM_PATH};
use prost::Message as _;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;

use super::wait::{PATIENCE, in_time};

/// What every HTTP/2 connection begins with, and empty settings.
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// A peer that takes nothing for so long takes nothing any more.
const STUCK: Duration = Duration::from_secs(1);

/// A connection whose user decides what is read and what is finished.
pub(crate) struct Attacker {
    sender: SendRequest<Bytes>,
    /// The halves of its stream, if it has set up.
    stream: Option<(SendStream<Bytes>, ResponseFuture, Option<RecvStream>)>,
    _driver: AbortOnDropHandle<()>,
}

impl Attacker {
    pub(crate) async fn connect(grpc: SocketAddr) -> Self {
        let tcp = TcpStream::connect(grpc).await.expect("the server listens");
        let (sender, connection) = h2::client::handshake(tcp).await.expect("it speaks HTTP/2");
        // Ends with the connection or its user; how it ends shows in the requests.
        let driver = tokio::spawn(async move { drop(connection.await) });
        Self { sender, stream: None, _driver: AbortOnDropHandle::new(driver) }
    }

    /// Begins a request whose body is still to come.
    pub(crate) async fn begin(&mut self, path: &str) -> Result<(ResponseFuture, SendStream<Bytes>), h2::Error> {
        let mut sender = self.sender.clone().ready().await?;
        sender.send_request(request(path), false)
    }

    /// A whole unary call; the answer's gRPC status is 0.
    pub(crate) async fn call<M: Message>(&mut self, message: &M) -> Payload {
        let (response, mut body) = self.begin(REQUEST_PATH).await.expect("the connection lives");
        body.send_data(framed(&Payload::encode_json(message)), true).expect("the stream lives");
        let mut answer = in_time(M::TYPE, response).await.expect("an answer").into_body();
        let mut bytes = BytesMut::new();
        while let Some(data) = in_time(M::TYPE, answer.data()).await {
            let data = data.expect("an answer");
            answer.flow_control().release_capacity(data.len()).expect("it was received");
            bytes.extend_from_slice(&data);
        }
        Payload::decode(&bytes[5..]).expect("an answer is a payload")
    }

    /// Sets up, and never reads what comes by the stream.
    pub(crate) async fn set_up(&mut self) {
        let (response, mut stream) = self.begin(STREAM_PATH).await.expect("the connection lives");
        let setup = ConnectionSetupRequest {
            client_version: Some("Attacker".to_owned()),
            tenant: Some("public".to_owned()),
            labels: Some([("source", "sdk"), ("module", "naming")].map(|(k, v)| (k.to_owned(), v.to_owned())).into()),
            ability_table: None,
        };
        stream.send_data(framed(&Payload::encode_json(&setup)), false).expect("the stream lives");
        self.stream = Some((stream, response, None));
    }

    /// Subscribes and looks at nothing of it.
    pub(crate) async fn subscribe(&mut self, service: &str) {
        let request = SubscribeServiceRequest {
            namespace: Some("public".to_owned()),
            service_name: Some(service.to_owned()),
            group_name: Some("DEFAULT_GROUP".to_owned()),
            clusters: Some(String::new()),
            subscribe: true,
        };
        assert_eq!(self.call(&request).await.kind(), "SubscribeServiceResponse");
    }
}

fn request(path: &str) -> Request<()> {
    Request::post(format!("http://server{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())
        .expect("path and headers are valid")
}

/// A gRPC message.
fn framed(payload: &Payload) -> Bytes {
    let message = payload.encode_to_vec();
    let mut out = BytesMut::with_capacity(message.len() + 5);
    out.put_u8(0);
    out.put_u32(u32::try_from(message.len()).expect("it is small"));
    out.put_slice(&message);
    out.freeze()
}

/// One HTTP/2 frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("it is small").to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend(body);
    frame
}

/// Writes `first` and then more, `times` or until the server has had enough. Reads nothing meanwhile.
pub(crate) async fn flood(server: SocketAddr, first: &[u8], more: impl Fn(u32) -> Vec<u8>, times: u32) -> TcpStream {
    flood_with(STUCK, server, first, more, times).await
}

/// The same with something that a server has to end the connection for.
pub(crate) async fn flood_until_closed(server: SocketAddr, first: &[u8], more: impl Fn(u32) -> Vec<u8>, times: u32) {
    let mut tcp = flood_with(PATIENCE, server, first, more, times).await;
    let mut heard = [0; 4096];
    let end = async { while tcp.read(&mut heard).await.is_ok_and(|read| read > 0) {} };
    in_time("the server closes the connection", end).await;
}

async fn flood_with(
    patience: Duration,
    server: SocketAddr,
    first: &[u8],
    more: impl Fn(u32) -> Vec<u8>,
    times: u32,
) -> TcpStream {
    let mut tcp = TcpStream::connect(server).await.expect("the server listens");
    // A server that has closed already has seen enough.
    drop(tcp.write_all(first).await);
    for number in 0..times {
        match tokio::time::timeout(patience, tcp.write_all(&more(number))).await {
            Ok(Ok(())) => {}
            // It has closed, or takes nothing any more.
            _ => break,
        }
    }
    tcp
}
