//! A gRPC client without manners: one TCP connection, any bytes in any order, every message kept as it came.

mod framing;
mod inbox;
mod status;

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http::{Request, Response};
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Frame, Incoming};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use nacos_proto::{Payload, STREAM_PATH};
use prost::Message as _;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use framing::{frame, gzip_stored, split_message};
pub use inbox::{Event, Inbound, Inbox};
pub use status::Status;

type Body = UnsyncBoxBody<Bytes, h2::Error>;

/// A call without an answer for this long has failed.
const CALL_DEADLINE: Duration = Duration::from_secs(15);

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
