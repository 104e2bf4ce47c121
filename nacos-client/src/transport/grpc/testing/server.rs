//! A gRPC server that does exactly what a test says, good or bad.

use std::{
    fmt, io,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::future::BoxFuture;
use h2::{RecvStream, SendStream, server::SendResponse};
use http::{HeaderMap, HeaderValue, Request, Response};
use nacos_proto::{
    Payload, REQUEST_PATH, STREAM_PATH, code,
    grpc::{
        BatchInstanceResponse, ErrorResponse, HealthCheckResponse, InstanceResponse, Message, QueryServiceResponse,
        ServerCheckResponse, ServiceInfo, ServiceListResponse, SetupAckRequest, SubscribeServiceResponse,
    },
};
use prost::Message as _;
use tokio::{io::DuplexStream, sync::mpsc};
use tokio_util::sync::CancellationToken;

use crate::servers::{Connector, DialError, Host, Link};

const PIPE: usize = 64 * 1024;

/// What the server does with one unary request.
pub(in crate::transport::grpc) enum Answer {
    /// Answers.
    Reply(Payload),
    /// Never answers.
    Never,
    /// Sends all but the last byte, one byte per second, for ever.
    Drip(Payload),
    /// Ends the call with a gRPC status and no message.
    Status(u32),
    /// Answers with an HTTP status, as a proxy does.
    Http(u16),
    /// Answers with these bytes.
    Raw(Bytes),
    /// Resets the call.
    Reset,
}

type AnswerFn = Box<dyn Fn(usize, &Payload) -> Answer + Send + Sync>;
type RefuseFn = Box<dyn Fn(usize, &str, u16) -> bool + Send + Sync>;

/// What the server does: unary requests by `answer`, which gets the number of the connection from 0.
pub(in crate::transport::grpc) struct Script {
    /// Reacts to a unary request.
    pub(in crate::transport::grpc) answer: AnswerFn,
    /// Body of the SetupAck sent when a set-up arrives.
    pub(in crate::transport::grpc) setup_ack: Option<&'static str>,
    /// Whether the stream's response headers go out at once, not before the first message.
    pub(in crate::transport::grpc) eager_headers: bool,
    /// Whether a connection is refused: by its number, and the host and port dialed.
    pub(in crate::transport::grpc) refuse: RefuseFn,
}

impl Default for Script {
    /// A well-behaved server that negotiates.
    fn default() -> Self {
        Self {
            answer: Box::new(|_, request| Answer::Reply(standard(request, true))),
            setup_ack: Some(r#"{"headers":{},"abilityTable":{"supportPersistentInstanceByGrpc":true}}"#),
            eager_headers: true,
            refuse: Box::new(|_, _, _| false),
        }
    }
}

/// The good answer to a request.
pub(in crate::transport::grpc) fn standard(request: &Payload, negotiates: bool) -> Payload {
    let info = Some(ServiceInfo { name: Some("orders".to_owned()), hosts: Some(Vec::new()), ..Default::default() });
    match request.kind() {
        "ServerCheckRequest" => Payload::encode_json(&ServerCheckResponse {
            connection_id: "1700000000000_10.0.0.9_50000".to_owned(),
            support_ability_negotiation: negotiates,
            ..Default::default()
        }),
        "HealthCheckRequest" => Payload::encode_json(&HealthCheckResponse::default()),
        "InstanceRequest" | "PersistentInstanceRequest" => Payload::encode_json(&InstanceResponse::default()),
        "BatchInstanceRequest" => Payload::encode_json(&BatchInstanceResponse::default()),
        "ServiceQueryRequest" => {
            Payload::encode_json(&QueryServiceResponse { service_info: info, ..Default::default() })
        }
        "SubscribeServiceRequest" => {
            Payload::encode_json(&SubscribeServiceResponse { service_info: info, ..Default::default() })
        }
        "ServiceListRequest" => Payload::encode_json(&ServiceListResponse {
            count: 3,
            service_names: vec!["orders".to_owned()],
            ..Default::default()
        }),
        _ => Payload::encode_json(&ErrorResponse::raised(code::NO_HANDLER, "RequestHandler Not Found")),
    }
}

/// Listens for connections of a client under test.
#[derive(Clone)]
pub(in crate::transport::grpc) struct ScriptedServer {
    script: Arc<Script>,
    accepted: Arc<Mutex<usize>>,
    peers: mpsc::UnboundedSender<Peer>,
}

impl fmt::Debug for ScriptedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ScriptedServer")
    }
}

/// The server's view of one connection.
pub(in crate::transport::grpc) struct Peer {
    /// Host and port the client dialed.
    pub(in crate::transport::grpc) dialed: (String, u16),
    requests: mpsc::UnboundedReceiver<Payload>,
    stream: mpsc::UnboundedReceiver<StreamEvent>,
    pushes: Option<Pushes>,
    reins: Reins,
}

/// How a test steers one connection.
#[derive(Clone, Default)]
struct Reins {
    frozen: CancellationToken,
    cut: CancellationToken,
    going_away: CancellationToken,
    /// Cancelled when the connection is over.
    gone: CancellationToken,
}

/// The server's half of the stream.
enum Pushes {
    /// The response headers are held back until the first message.
    Held(SendResponse<Bytes>),
    Open(SendStream<Bytes>),
}

enum StreamEvent {
    Opened(Pushes),
    Received(Payload),
}

impl ScriptedServer {
    /// A server that follows `script`; its connections come out of the channel.
    pub(in crate::transport::grpc) fn new(script: Script) -> (Self, mpsc::UnboundedReceiver<Peer>) {
        let (peers, connections) = mpsc::unbounded_channel();
        (Self { script: Arc::new(script), accepted: Arc::default(), peers }, connections)
    }
}

impl Connector for ScriptedServer {
    fn connect(&self, host: Host, port: u16, _: Duration) -> BoxFuture<'static, Result<Link, DialError>> {
        let number = {
            let mut accepted = self.accepted.lock().unwrap();
            *accepted += 1;
            *accepted - 1
        };
        let peer: Arc<str> = Arc::from(host.authority(port));
        if (self.script.refuse)(number, &host.to_string(), port) {
            let source = io::ErrorKind::ConnectionRefused.into();
            return Box::pin(async { Err(DialError::Connect { peer, source }) });
        }
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let (requests_in, requests) = mpsc::unbounded_channel();
        let (stream_in, stream) = mpsc::unbounded_channel();
        let reins = Reins::default();
        let ends = Ends { number, script: Arc::clone(&self.script), requests: requests_in, stream: stream_in };
        let serve = serve(ours, ends, reins.going_away.clone());
        let held = reins.clone();
        // Ends with the pipe, or with the test's runtime.
        tokio::spawn(async move {
            let _gone = held.gone.drop_guard();
            tokio::pin!(serve);
            tokio::select! {
                () = &mut serve => {}
                () = held.cut.cancelled() => {}
                // Holds the pipe and does nothing.
                () = held.frozen.cancelled() => held.cut.cancelled().await,
            }
        });
        let peer_view = Peer { dialed: (host.to_string(), port), requests, stream, pushes: None, reins };
        self.peers.send(peer_view).expect("the test keeps the channel");
        Box::pin(async { Ok(Link { io: Box::new(theirs), peer, local_ip: Some([127, 0, 0, 1].into()) }) })
    }
}

impl Peer {
    /// The next unary request.
    pub(in crate::transport::grpc) async fn request(&mut self) -> Payload {
        self.requests.recv().await.expect("the connection is open")
    }

    /// The next unary request of this kind; earlier ones are passed over.
    pub(in crate::transport::grpc) async fn request_of(&mut self, kind: &str) -> Payload {
        loop {
            let request = self.request().await;
            if request.kind() == kind {
                return request;
            }
        }
    }

    /// The next message the client wrote to the stream.
    pub(in crate::transport::grpc) async fn received(&mut self) -> Payload {
        loop {
            match self.stream.recv().await.expect("the connection is open") {
                StreamEvent::Opened(pushes) => self.pushes = Some(pushes),
                StreamEvent::Received(payload) => return payload,
            }
        }
    }

    /// Writes a message to the stream, which must be open: await [`Peer::received`] before.
    pub(in crate::transport::grpc) fn push(&mut self, kind: &str, json: impl Into<Bytes>) {
        let frame = frame(&Payload::new(kind, json.into()));
        self.push_raw(frame);
    }

    /// Writes bytes to the stream.
    pub(in crate::transport::grpc) fn push_raw(&mut self, bytes: Bytes) {
        self.pushes().send_data(bytes, false).expect("the stream is open");
    }

    /// Ends the server's half of the stream as gRPC servers do, and nothing else.
    pub(in crate::transport::grpc) fn end_stream(&mut self) {
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", HeaderValue::from_static("0"));
        self.pushes().send_trailers(trailers).expect("the stream is open");
    }

    fn pushes(&mut self) -> &mut SendStream<Bytes> {
        let body = self.pushes.take().expect("the stream is open").open();
        match self.pushes.insert(Pushes::Open(body)) {
            Pushes::Open(body) => body,
            Pushes::Held(_) => unreachable!("just opened"),
        }
    }

    /// Stops reading and writing; the connection stays open.
    pub(in crate::transport::grpc) fn freeze(&self) {
        self.reins.frozen.cancel();
    }

    /// Announces the end of the connection, as a server does that shuts down in good order; serves on what is open.
    pub(in crate::transport::grpc) fn go_away(&self) {
        self.reins.going_away.cancel();
    }

    /// Closes the connection.
    pub(in crate::transport::grpc) fn cut(&self) {
        self.reins.cut.cancel();
    }

    /// Waits until the connection is closed.
    pub(in crate::transport::grpc) async fn closed(&self) {
        self.reins.gone.cancelled().await;
    }
}

/// Where what a connection receives goes.
#[derive(Clone)]
struct Ends {
    number: usize,
    script: Arc<Script>,
    requests: mpsc::UnboundedSender<Payload>,
    stream: mpsc::UnboundedSender<StreamEvent>,
}

async fn serve(io: DuplexStream, ends: Ends, going_away: CancellationToken) {
    let Ok(mut connection) = h2::server::handshake(io).await else { return };
    let mut tasks = tokio::task::JoinSet::new();
    let mut going = false;
    loop {
        let accepted = tokio::select! {
            biased;
            () = going_away.cancelled(), if !going => {
                connection.graceful_shutdown();
                going = true;
                continue;
            }
            accepted = connection.accept() => accepted,
        };
        let Some(Ok((request, respond))) = accepted else { return };
        match request.uri().path() {
            REQUEST_PATH => drop(tasks.spawn(unary(request, respond, ends.clone()))),
            STREAM_PATH => drop(tasks.spawn(bidi(request, respond, ends.clone()))),
            other => panic!("{other}"),
        }
    }
}

async fn unary(request: Request<RecvStream>, mut respond: SendResponse<Bytes>, ends: Ends) {
    assert_eq!(request.headers()["te"], "trailers");
    let mut messages = Messages::new(request.into_body());
    let Some(payload) = messages.next().await else { return };
    let answer = (ends.script.answer)(ends.number, &payload);
    let _ = ends.requests.send(payload);
    match answer {
        Answer::Reply(payload) => finish(&mut respond, frame(&payload)),
        Answer::Raw(bytes) => finish(&mut respond, bytes),
        Answer::Never => std::future::pending().await,
        Answer::Drip(payload) => drip(respond, frame(&payload)).await,
        Answer::Reset => respond.send_reset(h2::Reason::INTERNAL_ERROR),
        Answer::Http(status) => {
            let response = Response::builder().status(status).body(()).unwrap();
            let _ = respond.send_response(response, true);
        }
        Answer::Status(status) => {
            let _ = respond.send_response(head().header("grpc-status", status.to_string()).body(()).unwrap(), true);
        }
    }
}

fn head() -> http::response::Builder {
    Response::builder().header("content-type", "application/grpc")
}

fn finish(respond: &mut SendResponse<Bytes>, bytes: Bytes) {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    // The client may be gone already.
    if let Ok(mut body) = respond.send_response(head().body(()).unwrap(), false) {
        let _ = body.send_data(bytes, false).and_then(|()| body.send_trailers(trailers));
    }
}

async fn drip(mut respond: SendResponse<Bytes>, mut bytes: Bytes) {
    let Ok(mut body) = respond.send_response(head().body(()).unwrap(), false) else { return };
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        if bytes.len() > 1 && body.send_data(bytes.split_to(1), false).is_err() {
            return;
        }
    }
}

async fn bidi(request: Request<RecvStream>, respond: SendResponse<Bytes>, ends: Ends) {
    let mut messages = Messages::new(request.into_body());
    let mut pushes = Pushes::Held(respond);
    if ends.script.eager_headers {
        pushes = Pushes::Open(pushes.open());
    }
    let Some(first) = messages.next().await else { return };
    if let Some(ack) = ends.script.setup_ack {
        let mut body = pushes.open();
        body.send_data(frame(&Payload::new(SetupAckRequest::TYPE, ack.into())), false).unwrap();
        pushes = Pushes::Open(body);
    }
    let _ = ends.stream.send(StreamEvent::Opened(pushes));
    let _ = ends.stream.send(StreamEvent::Received(first));
    while let Some(payload) = messages.next().await {
        let _ = ends.stream.send(StreamEvent::Received(payload));
    }
}

impl Pushes {
    fn open(self) -> SendStream<Bytes> {
        match self {
            Self::Held(mut respond) => respond.send_response(head().body(()).unwrap(), false).unwrap(),
            Self::Open(body) => body,
        }
    }
}

pub(super) fn frame(payload: &Payload) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_u8(0);
    bytes.put_u32(u32::try_from(payload.encoded_len()).unwrap());
    payload.encode(&mut bytes).unwrap();
    bytes.freeze()
}

struct Messages {
    body: RecvStream,
    buffer: BytesMut,
}

impl Messages {
    fn new(body: RecvStream) -> Self {
        Self { body, buffer: BytesMut::new() }
    }

    async fn next(&mut self) -> Option<Payload> {
        loop {
            if self.buffer.len() >= 5 {
                let size = u32::from_be_bytes(self.buffer[1..5].try_into().unwrap()) as usize;
                if self.buffer.len() >= 5 + size {
                    let frame = self.buffer.split_to(5 + size).freeze();
                    return Some(Payload::decode(frame.slice(5..)).unwrap());
                }
            }
            let chunk = self.body.data().await?.ok()?;
            let _ = self.body.flow_control().release_capacity(chunk.len());
            self.buffer.extend_from_slice(&chunk);
        }
    }
}
