//! A gRPC client without manners: one TCP connection, any bytes in any order, every message kept as it came.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Frame, Incoming};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use nacos_proto::{Payload, STREAM_PATH};
use prost::Message as _;
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

type Body = UnsyncBoxBody<Bytes, h2::Error>;

/// A call without an answer for this long has failed.
const CALL_DEADLINE: Duration = Duration::from_secs(15);

/// How a call or a stream ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// Name of the gRPC code, such as `UNIMPLEMENTED`.
    pub name: String,
    /// The text that came with it.
    pub message: String,
}

impl Status {
    fn new(name: &str, message: impl fmt::Display) -> Self {
        Self { name: name.to_owned(), message: message.to_string() }
    }

    fn from_headers(headers: &HeaderMap) -> Option<Self> {
        const NAMES: [&str; 17] = [
            "OK",
            "CANCELLED",
            "UNKNOWN",
            "INVALID_ARGUMENT",
            "DEADLINE_EXCEEDED",
            "NOT_FOUND",
            "ALREADY_EXISTS",
            "PERMISSION_DENIED",
            "RESOURCE_EXHAUSTED",
            "FAILED_PRECONDITION",
            "ABORTED",
            "OUT_OF_RANGE",
            "UNIMPLEMENTED",
            "INTERNAL",
            "UNAVAILABLE",
            "DATA_LOSS",
            "UNAUTHENTICATED",
        ];
        let code: usize = headers.get("grpc-status")?.to_str().ok()?.parse().ok()?;
        let message = headers.get("grpc-message").and_then(|v| v.to_str().ok()).unwrap_or_default();
        Some(Self::new(NAMES.get(code).unwrap_or(&"?"), percent_decoded(message)))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.message)
    }
}

/// Something that came by a stream.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Inbound {
    /// Label of the stream.
    pub stream: String,
    /// What came.
    pub event: Event,
    /// True once a test has looked at it.
    pub taken: bool,
}

/// What came by a stream.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_enums, reason = "a stream brings nothing else")]
pub enum Event {
    /// A message.
    Message(Payload),
    /// The end of the stream.
    Ended(Status),
}

/// Everything that came by the streams of one connection, in order.
#[derive(Debug, Default)]
pub struct Inbox {
    items: Mutex<Vec<Inbound>>,
    changed: Notify,
}

impl Inbox {
    fn put(&self, stream: &str, event: Event) {
        let item = Inbound { stream: stream.to_owned(), event, taken: false };
        self.items.lock().unwrap_or_else(PoisonError::into_inner).push(item);
        self.changed.notify_waiters();
    }

    /// Looks at everything that has come so far.
    pub fn look<T>(&self, look: impl FnOnce(&mut Vec<Inbound>) -> T) -> T {
        look(&mut self.items.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks at everything that has come, again after each arrival, until `find` is content; `None` after `within`.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost; what `find` has marked stays marked.
    pub async fn wait<T>(&self, within: Duration, mut find: impl FnMut(&mut Vec<Inbound>) -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + within;
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(found) = self.look(&mut find) {
                return Some(found);
            }
            timeout_at(deadline, changed).await.ok()?;
        }
    }

    /// Returns once nothing has come for `quiet`, or after `longest` if something keeps coming.
    ///
    /// # Cancel safety
    ///
    /// It only watches.
    pub async fn settle(&self, quiet: Duration, longest: Duration) {
        let until_quiet = async { while timeout(quiet, self.changed.notified()).await.is_ok() {} };
        // Either is good enough.
        drop(timeout(longest, until_quiet).await);
    }
}

enum Out {
    Message(Bytes),
    End,
    Cancel,
}

/// Answers a message of the server, or not.
pub type Answerer = Arc<dyn Fn(&Payload) -> Option<Payload> + Send + Sync>;

/// One TCP connection. Dropping it closes it.
pub struct Connection {
    sender: http2::SendRequest<Body>,
    driver: JoinHandle<()>,
    streams: HashMap<String, (mpsc::UnboundedSender<Out>, JoinHandle<()>)>,
    inbox: Arc<Inbox>,
    answerer: Answerer,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("streams", &self.streams.keys()).finish_non_exhaustive()
    }
}

impl Connection {
    /// Dials; `answerer` is asked about each message of the server as it arrives.
    ///
    /// # Errors
    ///
    /// When nobody listens there, or what listens does not speak HTTP/2.
    ///
    /// # Cancel safety
    ///
    /// A cancelled dial leaves nothing behind.
    pub async fn open(
        address: SocketAddr,
        answerer: Answerer,
    ) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let tcp = TcpStream::connect(address).await?;
        tcp.set_nodelay(true)?;
        let (sender, connection) = http2::Builder::new(TokioExecutor::new()).handshake(TokioIo::new(tcp)).await?;
        // Ends with the connection, or when the connection is dropped.
        let driver = tokio::spawn(async move {
            // How it ended shows in the calls and streams it carried.
            drop(connection.await);
        });
        Ok(Self { sender, driver, streams: HashMap::new(), inbox: Arc::default(), answerer })
    }

    /// What came by the streams of this connection.
    pub fn inbox(&self) -> &Arc<Inbox> {
        &self.inbox
    }

    /// Calls `path` with `message` as the request's bytes, and returns the bytes of the answer.
    ///
    /// # Errors
    ///
    /// The gRPC status when it is not OK; `NO_ANSWER` when the connection broke or 15 s passed.
    ///
    /// # Cancel safety
    ///
    /// A cancelled call is reset; the server may have carried it out.
    pub async fn call(&self, path: &str, message: &[u8], gzip: bool) -> Result<Bytes, Status> {
        if gzip {
            let gzipped = frame(&gzip_stored(message), 1);
            return self.send_body(path, gzipped, Some("gzip")).await;
        }
        self.send_body(path, frame(message, 0), None).await
    }

    /// Calls `path` with a body that need be no message at all, under the name of a compression or none.
    ///
    /// # Errors
    ///
    /// As [`Connection::call`].
    ///
    /// # Cancel safety
    ///
    /// As [`Connection::call`].
    pub async fn send_body(&self, path: &str, body: Bytes, encoding: Option<&'static str>) -> Result<Bytes, Status> {
        let body = StreamBody::new(stream::iter([Ok(Frame::data(body))])).boxed_unsync();
        let mut request = request(path, body);
        if let Some(encoding) = encoding {
            request.headers_mut().insert("grpc-encoding", http::HeaderValue::from_static(encoding));
        }
        let mut sender = self.sender.clone();
        let answer = async {
            sender.ready().await.map_err(no_answer)?;
            let response = sender.send_request(request).await.map_err(no_answer)?;
            collect(response).await
        };
        timeout(CALL_DEADLINE, answer).await.unwrap_or_else(|_| Err(Status::new("NO_ANSWER", "deadline")))
    }

    /// Opens the bidirectional stream under a label.
    ///
    /// # Cancel safety
    ///
    /// Cancelled before it returns, there is no stream.
    pub async fn open_stream(&mut self, label: &str) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let body = StreamBody::new(stream::unfold(receiver, |mut receiver| async move {
            let item = match receiver.recv().await? {
                Out::Message(data) => Ok(Frame::data(data)),
                Out::Cancel => Err(h2::Error::from(h2::Reason::CANCEL)),
                Out::End => return None,
            };
            Some((item, receiver))
        }));
        // A broken connection shows when the request is sent.
        drop(self.sender.ready().await);
        let response = self.sender.send_request(request(STREAM_PATH, body.boxed_unsync()));
        let reader = Reader {
            label: label.to_owned(),
            inbox: Arc::clone(&self.inbox),
            answerer: Arc::clone(&self.answerer),
            sender: sender.clone(),
        };
        // Ends with the stream, at the latest with the connection.
        let task = tokio::spawn(async move { reader.run(response.await).await });
        self.streams.insert(label.to_owned(), (sender, task));
    }

    /// Writes a payload to a stream; a stream that is gone swallows it.
    pub fn send(&self, stream: &str, payload: &Payload) {
        self.out(stream, Out::Message(frame(&payload.encode_to_vec(), 0)));
    }

    /// Ends the client's half of a stream.
    pub fn close_stream(&self, stream: &str) {
        self.out(stream, Out::End);
    }

    /// Resets a stream.
    pub fn cancel_stream(&mut self, stream: &str) {
        self.out(stream, Out::Cancel);
        if let Some((_, reader)) = self.streams.remove(stream) {
            reader.abort();
        }
    }

    fn out(&self, stream: &str, out: Out) {
        if let Some((sender, _)) = self.streams.get(stream) {
            // The receiver goes with the stream; nobody is left to be told then.
            drop(sender.send(out));
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        for (_, reader) in self.streams.values() {
            reader.abort();
        }
        self.driver.abort();
    }
}

struct Reader {
    label: String,
    inbox: Arc<Inbox>,
    answerer: Answerer,
    sender: mpsc::UnboundedSender<Out>,
}

impl Reader {
    async fn run(self, response: Result<Response<Incoming>, hyper::Error>) {
        let status = match response {
            Ok(response) => self.read(response).await,
            Err(e) => no_answer(e),
        };
        self.inbox.put(&self.label, Event::Ended(status));
    }

    async fn read(&self, response: Response<Incoming>) -> Status {
        let mut status = Status::from_headers(response.headers());
        let mut body = response.into_body();
        let mut buffer = BytesMut::new();
        while let Some(frame) = body.frame().await {
            match frame {
                Err(e) => return no_answer(e),
                Ok(frame) => match frame.into_data() {
                    Ok(data) => buffer.extend_from_slice(&data),
                    Err(other) => status = other.trailers_ref().and_then(Status::from_headers).or(status),
                },
            }
            while let Some(message) = split_message(&mut buffer) {
                match Payload::decode(message) {
                    Ok(payload) => self.take(payload),
                    Err(e) => return Status::new("BAD_PAYLOAD", e),
                }
            }
        }
        status.unwrap_or_else(|| Status::new("NO_ANSWER", "no status"))
    }

    fn take(&self, payload: Payload) {
        if let Some(answer) = (self.answerer)(&payload) {
            drop(self.sender.send(Out::Message(frame(&answer.encode_to_vec(), 0))));
        }
        self.inbox.put(&self.label, Event::Message(payload));
    }
}

fn request(path: &str, body: Body) -> Request<Body> {
    Request::post(format!("http://server{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(body)
        .expect("path and headers are valid")
}

async fn collect(response: Response<Incoming>) -> Result<Bytes, Status> {
    let first = Status::from_headers(response.headers());
    let body = response.into_body().collect().await.map_err(no_answer)?;
    let status = body.trailers().and_then(Status::from_headers).or(first);
    match status {
        Some(status) if status.name != "OK" => Err(status),
        None => Err(Status::new("NO_ANSWER", "no status")),
        Some(_) => split_message(&mut BytesMut::from(body.to_bytes().as_ref()))
            .ok_or_else(|| Status::new("NO_ANSWER", "no message")),
    }
}

fn no_answer(error: impl fmt::Debug) -> Status {
    Status::new("NO_ANSWER", format!("{error:?}"))
}

fn frame(message: &[u8], compressed: u8) -> Bytes {
    let length = u32::try_from(message.len()).expect("test messages are small");
    let mut out = Vec::with_capacity(message.len() + 5);
    out.push(compressed);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(message);
    out.into()
}

fn split_message(buffer: &mut BytesMut) -> Option<Bytes> {
    let length: [u8; 4] = buffer.get(1..5)?.try_into().ok()?;
    let end = 5 + usize::try_from(u32::from_be_bytes(length)).ok()?;
    if buffer.len() < end {
        return None;
    }
    let message = buffer.split_to(end).freeze();
    Some(message.slice(5..))
}

fn percent_decoded(text: &str) -> String {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code =
            after.get(..2).and_then(|d| std::str::from_utf8(d).ok()).and_then(|d| u8::from_str_radix(d, 16).ok());
        match (first, code) {
            (b'%', Some(byte)) => {
                out.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                out.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A gzip file whose content is stored, not deflated.
fn gzip_stored(data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len()).expect("one stored block holds the message");
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 1];
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&(!length).to_le_bytes());
    out.extend_from_slice(data);
    let crc = data.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |c, _| if c & 1 == 1 { (c >> 1) ^ 0xedb8_8320 } else { c >> 1 })
    });
    out.extend_from_slice(&(!crc).to_le_bytes());
    out.extend_from_slice(&u32::from(length).to_le_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_gzip_file_has_the_right_check_sum() {
        let file = gzip_stored(b"123456789");
        assert_eq!(file.get(file.len() - 8..file.len() - 4), Some(0xcbf4_3926_u32.to_le_bytes().as_slice()));
    }

    #[test]
    fn status_texts_are_percent_decoded() {
        assert_eq!(percent_decoded("a%20b%"), "a b%");
    }
}
