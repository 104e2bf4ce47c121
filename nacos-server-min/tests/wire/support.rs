//! A client that speaks the wire and nothing more: what it sends may be as wrong as a test likes.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, Request};
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming};
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::TokioIo;
use nacos_proto::{Payload, REQUEST_PATH, STREAM_PATH};
use prost::Message;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Longest wait for anything that is going to happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The body of a request: whatever comes through a channel.
pub(crate) struct ChannelBody(mpsc::UnboundedReceiver<Bytes>);

impl http_body::Body for ChannelBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|data| data.map(|data| Ok(Frame::data(data))))
    }
}

/// What a unary call came to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) grpc_status: String,
    pub(crate) grpc_message: String,
    pub(crate) kind: String,
    pub(crate) body: Value,
}

impl Reply {
    pub(crate) fn codes(&self) -> (&str, i64, i64) {
        let number = |name: &str| self.body[name].as_i64().unwrap_or(i64::MIN);
        (&self.kind, number("resultCode"), number("errorCode"))
    }

    pub(crate) fn hosts(&self) -> &Vec<Value> {
        self.body["serviceInfo"]["hosts"].as_array().expect("a list in the answer")
    }

    pub(crate) fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }
}

/// Keeps the tasks of a connection, so that it can be torn down.
#[derive(Clone, Default)]
struct Tasks(Arc<Mutex<JoinSet<()>>>);

impl<F: Future<Output: Send> + Send + 'static> hyper::rt::Executor<F> for Tasks {
    fn execute(&self, future: F) {
        self.0.lock().expect("no panic while spawning").spawn(async move { drop(future.await) });
    }
}

/// One TCP connection; dropping it closes the socket.
pub(crate) struct Peer {
    send: SendRequest<ChannelBody>,
    tasks: Tasks,
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.tasks.0.lock().expect("no panic while spawning").abort_all();
    }
}

/// Length-prefixes a message.
pub(crate) fn framed(message: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(5 + message.len());
    out.put_u8(0);
    out.put_u32(u32::try_from(message.len()).expect("a test message is small"));
    out.put_slice(message);
    out.freeze()
}

pub(crate) fn payload(kind: &str, json: &str) -> Bytes {
    let payload = Payload::new(kind, Bytes::copy_from_slice(json.as_bytes())).with_client_ip("10.0.0.9");
    framed(&payload.encode_to_vec())
}

impl Peer {
    pub(crate) async fn connect(addr: SocketAddr) -> Self {
        let tcp = TcpStream::connect(addr).await.expect("the server listens");
        tcp.set_nodelay(true).expect("a live socket");
        let tasks = Tasks::default();
        let (send, connection) = hyper::client::conn::http2::Builder::new(tasks.clone())
            .handshake(TokioIo::new(tcp))
            .await
            .expect("an HTTP/2 handshake");
        hyper::rt::Executor::execute(&tasks, connection);
        Self { send, tasks }
    }

    /// Connected and set up as a naming client.
    pub(crate) async fn naming(addr: SocketAddr) -> (Self, Stream) {
        let peer = Self::connect(addr).await;
        let stream = peer.set_up(&setup()).await;
        (peer, stream)
    }

    /// Opens a stream, sets up and waits for the acknowledgement.
    pub(crate) async fn set_up(&self, setup: &Value) -> Stream {
        let mut stream = self.stream().await;
        stream.send("ConnectionSetupRequest", &setup.to_string());
        let (kind, _) = stream.next().await.expect("an acknowledgement of the set-up");
        assert_eq!(kind, "SetupAckRequest");
        stream
    }

    fn request(path: &str) -> http::request::Builder {
        Request::post(format!("http://server{path}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
    }

    pub(crate) async fn unary(&self, kind: &str, json: &Value) -> Reply {
        self.unary_text(kind, &json.to_string()).await
    }

    pub(crate) async fn unary_text(&self, kind: &str, json: &str) -> Reply {
        self.raw(REQUEST_PATH, &[], vec![payload(kind, json)]).await
    }

    /// Any bytes to any path.
    pub(crate) async fn raw(&self, path: &str, headers: &[(&str, &str)], chunks: Vec<Bytes>) -> Reply {
        self.try_raw(path, headers, chunks).await.expect("a response")
    }

    pub(crate) async fn try_raw(&self, path: &str, headers: &[(&str, &str)], chunks: Vec<Bytes>) -> Option<Reply> {
        let (sender, receiver) = mpsc::unbounded_channel();
        for chunk in chunks {
            sender.send(chunk).expect("the receiver is right here");
        }
        drop(sender);
        let mut request = Self::request(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(ChannelBody(receiver)).expect("a valid request");
        let answered = tokio::time::timeout(PATIENCE, self.send.clone().send_request(request));
        let response = answered.await.expect("an answer in time").ok()?;
        let (parts, body) = response.into_parts();
        let (data, trailers) = collect(body).await;
        let find = |name: &str| {
            let value = trailers.get(name).or_else(|| parts.headers.get(name));
            value.map(|v| v.to_str().expect("ASCII").to_owned()).unwrap_or_default()
        };
        let message = data.get(5..).map(|bytes| Payload::decode(bytes).expect("a payload"));
        Some(Reply {
            status: parts.status.as_u16(),
            grpc_status: find("grpc-status"),
            grpc_message: find("grpc-message"),
            kind: message.as_ref().map(|m| m.kind().to_owned()).unwrap_or_default(),
            body: message.map_or(Value::Null, |m| serde_json::from_slice(m.json()).expect("JSON in the answer")),
        })
    }

    /// Opens the bidirectional stream.
    pub(crate) async fn stream(&self) -> Stream {
        let (sender, receiver) = mpsc::unbounded_channel();
        let request = Self::request(STREAM_PATH).body(ChannelBody(receiver)).expect("a valid request");
        let response = self.send.clone().send_request(request).await.expect("a stream");
        let head: HeaderMap = response.headers().clone();
        Stream { sender: Some(sender), body: response.into_body(), rest: BytesMut::new(), status: status_of(&head) }
    }

    pub(crate) async fn register(&self, service: &str, instance: Value) -> Reply {
        self.unary("InstanceRequest", &instance_request("registerInstance", service, instance)).await
    }

    pub(crate) async fn deregister(&self, service: &str, instance: Value) -> Reply {
        self.unary("InstanceRequest", &instance_request("deregisterInstance", service, instance)).await
    }

    pub(crate) async fn query(&self, service: &str) -> Reply {
        self.unary("ServiceQueryRequest", &named(service, json!({"cluster": "", "healthyOnly": false}))).await
    }

    pub(crate) async fn subscribe(&self, service: &str, clusters: &str) -> Reply {
        let request = named(service, json!({"subscribe": true, "clusters": clusters}));
        self.unary("SubscribeServiceRequest", &request).await
    }

    pub(crate) async fn unsubscribe(&self, service: &str) -> Reply {
        self.unary("SubscribeServiceRequest", &named(service, json!({"subscribe": false, "clusters": ""}))).await
    }

    pub(crate) async fn health(&self) -> Reply {
        self.unary("HealthCheckRequest", &json!({"headers": {}})).await
    }
}

async fn collect(mut body: Incoming) -> (Vec<u8>, HeaderMap) {
    let (mut data, mut trailers) = (Vec::new(), HeaderMap::new());
    while let Some(Ok(frame)) = body.frame().await {
        match frame.into_data() {
            Ok(bytes) => data.extend_from_slice(&bytes),
            Err(frame) => trailers = frame.into_trailers().unwrap_or_default(),
        }
    }
    (data, trailers)
}

fn status_of(headers: &HeaderMap) -> Option<String> {
    headers.get("grpc-status").map(|v| v.to_str().expect("ASCII").to_owned())
}

/// The bidirectional stream of a connection.
pub(crate) struct Stream {
    sender: Option<mpsc::UnboundedSender<Bytes>>,
    body: Incoming,
    rest: BytesMut,
    /// The status it ended with.
    pub(crate) status: Option<String>,
}

impl Stream {
    pub(crate) fn send(&self, kind: &str, json: &str) {
        self.send_bytes(payload(kind, json));
    }

    pub(crate) fn send_bytes(&self, bytes: Bytes) {
        if let Some(sender) = &self.sender {
            drop(sender.send(bytes));
        }
    }

    /// Ends the client's half.
    pub(crate) fn half_close(&mut self) {
        self.sender = None;
    }

    /// The next message; `None` when the stream is over.
    pub(crate) async fn next(&mut self) -> Option<(String, Value)> {
        tokio::time::timeout(PATIENCE, self.read()).await.expect("a message in time")
    }

    /// The next message if it comes within so long.
    pub(crate) async fn within(&mut self, time: Duration) -> Option<(String, Value)> {
        tokio::time::timeout(time, self.read()).await.ok().flatten()
    }

    async fn read(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some(message) = self.cut() {
                let payload = Payload::decode(message).expect("a payload");
                let json = serde_json::from_slice(payload.json()).expect("JSON in the message");
                return Some((payload.kind().to_owned(), json));
            }
            let frame = self.body.frame().await?.ok()?;
            match frame.into_data() {
                Ok(data) => self.rest.extend_from_slice(&data),
                Err(frame) => self.status = status_of(&frame.into_trailers().unwrap_or_default()),
            }
        }
    }

    fn cut(&mut self) -> Option<BytesMut> {
        let length = u32::from_be_bytes(self.rest.get(1..5)?.try_into().expect("four bytes")) as usize;
        if self.rest.len() < 5 + length {
            return None;
        }
        drop(self.rest.split_to(5));
        Some(self.rest.split_to(length))
    }

    /// The next push: its id and its list. Other messages are a failure.
    pub(crate) async fn push(&mut self) -> (String, Value) {
        let (kind, body) = self.next().await.expect("a push");
        assert_eq!(kind, "NotifySubscriberRequest");
        (body["requestId"].as_str().expect("an id").to_owned(), body["serviceInfo"].clone())
    }

    /// The next push, acknowledged.
    pub(crate) async fn acked_push(&mut self) -> Value {
        let (id, list) = self.push().await;
        self.ack(&id, 200);
        list
    }

    pub(crate) fn ack(&self, id: &str, result_code: i32) {
        let ack = json!({"resultCode": result_code, "errorCode": 0, "requestId": id, "success": result_code == 200});
        self.send("NotifySubscriberResponse", &ack.to_string());
    }
}

pub(crate) fn setup() -> Value {
    json!({"headers": {}, "clientVersion": "Nacos-Test:v0", "labels": {"source": "sdk", "module": "naming"},
        "abilityTable": {}, "module": "internal"})
}

/// A request's common fields together with its own.
pub(crate) fn named(service: &str, own: Value) -> Value {
    let mut request = json!({"headers": {}, "namespace": "public", "serviceName": service,
        "groupName": "DEFAULT_GROUP", "module": "naming"});
    if let (Some(all), Value::Object(own)) = (request.as_object_mut(), own) {
        all.extend(own);
    }
    request
}

pub(crate) fn instance(ip: &str, port: u16) -> Value {
    json!({"ip": ip, "port": port, "weight": 1.0, "healthy": true, "enabled": true, "ephemeral": true,
        "clusterName": "DEFAULT", "metadata": {}})
}

pub(crate) fn instance_request(kind: &str, service: &str, instance: Value) -> Value {
    named(service, json!({"type": kind, "instance": instance}))
}

/// Ports of the hosts in a list, sorted.
pub(crate) fn ports(list: &Value) -> Vec<u64> {
    let mut ports: Vec<u64> =
        list["hosts"].as_array().expect("hosts").iter().filter_map(|host| host["port"].as_u64()).collect();
    ports.sort_unstable();
    ports
}

/// Asks again and again until the answer is the wanted one.
pub(crate) async fn eventually<F: Future<Output = bool>>(what: &str, mut ask: impl FnMut() -> F) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !ask().await {
        assert!(tokio::time::Instant::now() < deadline, "never happened: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
