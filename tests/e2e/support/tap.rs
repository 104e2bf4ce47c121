//! A gRPC relay that keeps what the client said, and may change what the server answers.

use std::convert::Infallible;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use futures_util::stream;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use nacos_client::NamingService;
use nacos_proto::{Payload, STREAM_PATH};
use nacos_tests::raw::{self, Connection};
use prost::Message as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{RwLock, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::client::quick;
use super::world::{Registry, World};

type Body = UnsyncBoxBody<Bytes, Infallible>;
type Frames = mpsc::UnboundedSender<Frame<Bytes>>;
type Rewrite = dyn Fn(Payload) -> Option<Payload> + Send + Sync;

/// The label of the only stream that is relayed per connection.
const STREAM: &str = "stream";
/// A stream may last as long as the longest test.
const FOR_EVER: Duration = Duration::from_secs(3600);

/// One message of the client.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    /// Number of the TCP connection it came by, from 0.
    pub(crate) connection: usize,
    /// What it said.
    pub(crate) payload: Payload,
}

/// The relay. Dropping it closes its port and all connections.
pub(crate) struct Tap {
    address: SocketAddr,
    wire: Arc<Wire>,
    _task: AbortOnDropHandle<()>,
}

struct Wire {
    target: SocketAddr,
    said: Mutex<Vec<Said>>,
    rewrite: Mutex<Arc<Rewrite>>,
    /// The push streams to the clients.
    streams: Mutex<Vec<Frames>>,
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tap").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Tap {
    /// A relay to the gRPC port `target`, on a free port.
    pub(crate) async fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port is to be had");
        let address = listener.local_addr().expect("a bound socket has an address");
        let unchanged: Arc<Rewrite> = Arc::new(Some);
        let wire = Arc::new(Wire {
            target,
            said: Mutex::default(),
            rewrite: Mutex::new(unchanged),
            streams: Mutex::default(),
        });
        // Ends when the tap is dropped, and all its connections with it.
        let task = tokio::spawn(accept(listener, Arc::clone(&wire)));
        Self { address, wire, _task: AbortOnDropHandle::new(task) }
    }

    /// The entry of a client's server list for it.
    pub(crate) fn entry(&self) -> String {
        format!("127.0.0.1:8848?grpc_port={}", self.address.port())
    }

    /// From now on every answer and push goes through `rewrite`; `None` swallows a push.
    pub(crate) fn rewrite(&self, rewrite: impl Fn(Payload) -> Option<Payload> + Send + Sync + 'static) {
        *lock(&self.wire.rewrite) = Arc::new(rewrite);
    }

    /// Sends a message by the stream of every connection, as if the server had.
    pub(crate) fn inject(&self, payload: &Payload) {
        for stream in lock(&self.wire.streams).iter() {
            // A connection that is gone hears nothing.
            drop(stream.send(Frame::data(framed(payload))));
        }
    }

    /// Ends the stream of every connection, and nothing else.
    pub(crate) fn end_streams(&self) {
        for stream in lock(&self.wire.streams).drain(..) {
            drop(stream.send(Frame::trailers(trailers(0))));
        }
    }

    /// What clients said so far, in the order it came.
    pub(crate) fn said(&self) -> Vec<Said> {
        lock(&self.wire.said).clone()
    }

    /// The messages of one type.
    pub(crate) fn said_of(&self, kind: &str) -> Vec<Said> {
        self.said().into_iter().filter(|said| said.payload.kind() == kind).collect()
    }

    /// How many messages of that type there were.
    pub(crate) fn count(&self, kind: &str) -> usize {
        lock(&self.wire.said).iter().filter(|said| said.payload.kind() == kind).count()
    }
}

async fn accept(listener: TcpListener, wire: Arc<Wire>) {
    let mut connections = JoinSet::new();
    for number in 0.. {
        let (client, _) = listener.accept().await.expect("an open listener accepts");
        // Ends with either end of the connection, or with the tap.
        connections.spawn(serve(client, number, Arc::clone(&wire)));
        while connections.try_join_next().is_some() {}
    }
}

/// One connection of a client and its counterpart to the server.
struct Relay {
    number: usize,
    wire: Arc<Wire>,
    server: RwLock<Connection>,
    /// Where the server's messages go, once there is a stream.
    down: Arc<Mutex<Option<Frames>>>,
    over: CancellationToken,
}

async fn serve(client: TcpStream, number: usize, wire: Arc<Wire>) {
    let down = Arc::<Mutex<Option<Frames>>>::default();
    let (pushes, rewriter) = (Arc::clone(&down), Arc::clone(&wire));
    let hear = Arc::new(move |payload: &Payload| {
        if let (Some(changed), Some(stream)) = (rewriter.changed(payload.clone()), &*lock(&pushes)) {
            drop(stream.send(Frame::data(framed(&changed))));
        }
        None
    });
    let Ok(server) = Connection::open(wire.target, hear).await else { return };
    let over = CancellationToken::new();
    let relay = Arc::new(Relay { number, wire, server: RwLock::new(server), down, over: over.clone() });
    let service = service_fn(|request| {
        let relay = Arc::clone(&relay);
        async move { Ok::<_, Infallible>(relay.answer(request).await) }
    });
    let _over_at_the_end = over.clone().drop_guard();
    tokio::select! {
        // A connection that breaks is one that has ended.
        _ = http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(client), service) => {}
        () = over.cancelled() => {}
    }
}

impl Wire {
    fn note(&self, connection: usize, payload: &Payload) {
        lock(&self.said).push(Said { connection, payload: payload.clone() });
    }

    fn changed(&self, payload: Payload) -> Option<Payload> {
        let rewrite = Arc::clone(&lock(&self.rewrite));
        rewrite(payload)
    }
}

impl Relay {
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        let path = request.uri().path().to_owned();
        let (frames, body) = mpsc::unbounded_channel();
        if path == STREAM_PATH {
            self.stream(request.into_body(), frames).await;
        } else {
            let asked = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
            for frame in self.unary(&path, asked.get(5..).unwrap_or_default()).await {
                // The receiver is the response, made below.
                drop(frames.send(frame));
            }
        }
        let body = stream::unfold(body, |mut body| async move { Some((Ok(body.recv().await?), body)) });
        Response::builder()
            .header("content-type", "application/grpc")
            .body(StreamBody::new(body).boxed_unsync())
            .expect("the header is valid")
    }

    async fn unary(&self, path: &str, asked: &[u8]) -> Vec<Frame<Bytes>> {
        if let Ok(payload) = Payload::decode(asked) {
            self.wire.note(self.number, &payload);
        }
        let answer = self.server.read().await.call(path, asked, false).await;
        let answer = answer.ok().and_then(|bytes| self.wire.changed(Payload::decode(bytes).ok()?));
        match answer {
            Some(payload) => vec![Frame::data(framed(&payload)), Frame::trailers(trailers(0))],
            None => vec![Frame::trailers(trailers(14))],
        }
    }

    async fn stream(self: &Arc<Self>, mut body: Incoming, frames: Frames) {
        *lock(&self.down) = Some(frames.clone());
        lock(&self.wire.streams).push(frames);
        self.server.write().await.open_stream(STREAM).await;
        let relay = Arc::clone(self);
        // Both end with the stream or the connection.
        tokio::spawn(async move {
            let mut buffer = BytesMut::new();
            while let Some(Ok(frame)) = body.frame().await {
                buffer.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
                while let Some(payload) = message(&mut buffer) {
                    relay.wire.note(relay.number, &payload);
                    relay.server.read().await.send(STREAM, &payload);
                }
            }
            relay.server.read().await.close_stream(STREAM);
        });
        let inbox = Arc::clone(self.server.read().await.inbox());
        let over = self.over.clone();
        tokio::spawn(async move {
            let ended = inbox.wait(FOR_EVER, |items| {
                items.iter().any(|item| matches!(item.event, raw::Event::Ended(_))).then_some(())
            });
            tokio::select! {
                _ = ended => over.cancel(),
                () = over.cancelled() => {}
            }
        });
    }
}

fn message(buffer: &mut BytesMut) -> Option<Payload> {
    let length: [u8; 4] = buffer.get(1..5)?.try_into().ok()?;
    let length = usize::try_from(u32::from_be_bytes(length)).ok()?;
    if buffer.len() < 5 + length {
        return None;
    }
    buffer.advance(5);
    Payload::decode(buffer.split_to(length).freeze()).ok()
}

fn framed(payload: &Payload) -> Bytes {
    let message = payload.encode_to_vec();
    let length = u32::try_from(message.len()).expect("messages of a test are small");
    [&[0], length.to_be_bytes().as_slice(), &message].concat().into()
}

fn trailers(code: u16) -> HeaderMap {
    HeaderMap::from_iter([(HeaderName::from_static("grpc-status"), HeaderValue::from(code))])
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A registry behind a tap, and a client of it whose deadlines are of no concern.
pub(crate) async fn tapped(world: World) -> (Registry, Tap, NamingService) {
    let registry = world.registry().await;
    let tap = Tap::to(registry.grpc()).await;
    let nacos =
        NamingService::builder().servers([tap.entry()]).timeouts(quick()).build().expect("the settings are valid");
    (registry, tap, nacos)
}
