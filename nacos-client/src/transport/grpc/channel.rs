//! gRPC calls over one HTTP/2 connection.

use std::{future::poll_fn, sync::Arc};

use bytes::Bytes;
use h2::{
    RecvStream, SendStream,
    client::{ResponseFuture, SendRequest},
};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, Version, header};
use nacos_proto::{Payload, REQUEST_PATH, STREAM_PATH};
use prost::Message;

use super::{
    framing::{Decoder, Frame, encode},
    rpc_error::RpcError,
};

const GRPC: &str = "application/grpc";
const GRPC_STATUS: &str = "grpc-status";
const GRPC_MESSAGE: &str = "grpc-message";
const USER_AGENT: &str = concat!("nacos-rust-client/", env!("CARGO_PKG_VERSION"));

/// Starts exchanges on one HTTP/2 connection; cheap to share, and useless once that connection ends.
#[derive(Clone)]
pub(super) struct Channel {
    send: SendRequest<Bytes>,
    targets: Arc<Targets>,
    /// Largest message taken, in bytes.
    limit: usize,
}

struct Targets {
    unary: Uri,
    stream: Uri,
    headers: HeaderMap,
}

impl Channel {
    /// A channel over `send` for a server known as `authority`, which takes messages of up to `limit` bytes; `None` if that is no
    /// authority.
    pub(super) fn new(send: SendRequest<Bytes>, authority: &str, limit: usize) -> Option<Self> {
        let uri = |path| Uri::builder().scheme("http").authority(authority).path_and_query(path).build().ok();
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(GRPC));
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
        headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        let targets = Targets { unary: uri(REQUEST_PATH)?, stream: uri(STREAM_PATH)?, headers };
        Some(Self { send, targets: Arc::new(targets), limit })
    }

    /// One request, one answer.
    pub(super) async fn unary(&self, payload: &Payload) -> Result<Payload, RpcError> {
        self.unary_frame(framed(payload)?).await
    }

    /// Like [`Channel::unary`], for a request from [`framed`].
    pub(super) async fn unary_frame(&self, frame: Bytes) -> Result<Payload, RpcError> {
        let (response, mut body) = self.open(&self.targets.unary).await?;
        body.send_data(frame, true)?;
        let response = response.await?;
        check_head(&response)?;
        read_answer(response.into_body(), self.limit).await
    }

    /// Opens the bidirectional stream and writes its first message.
    ///
    /// The response headers are not awaited here: servers may send none before their first message.
    pub(super) async fn stream(&self, first: &Payload) -> Result<(StreamReader, StreamWriter), RpcError> {
        let frame = framed(first)?;
        let (response, mut body) = self.open(&self.targets.stream).await?;
        body.send_data(frame, false)?;
        let reader = StreamReader { source: Source::Headers(response), frames: Decoder::new(self.limit) };
        Ok((reader, StreamWriter { body }))
    }

    async fn open(&self, target: &Uri) -> Result<(ResponseFuture, SendStream<Bytes>), RpcError> {
        let mut send = self.send.clone().ready().await?;
        // Made when it can be sent: kept over a wait it would make every call larger.
        let mut request = Request::new(());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = target.clone();
        *request.version_mut() = Version::HTTP_2;
        *request.headers_mut() = self.targets.headers.clone();
        Ok(send.send_request(request, false)?)
    }
}

/// The bytes that carry a request.
pub(super) fn framed(payload: &Payload) -> Result<Bytes, RpcError> {
    encode(payload).ok_or(RpcError::TooLarge)
}

async fn read_answer(mut body: RecvStream, limit: usize) -> Result<Payload, RpcError> {
    let mut frames = Decoder::new(limit);
    let mut answer = None;
    while let Some(chunk) = body.data().await {
        let chunk = chunk?;
        // The window is given back at once: the message limit bounds what is kept, not the window.
        body.flow_control().release_capacity(chunk.len())?;
        frames.push(chunk);
        while let Some(frame) = frames.next() {
            answer.get_or_insert(frame);
        }
    }
    if let Some(trailers) = body.trailers().await? {
        check_status(&trailers)?;
    }
    answer.map_or_else(|| Err(RpcError::Unreadable("the answer is empty".to_owned())), decode)
}

fn check_head<T>(response: &Response<T>) -> Result<(), RpcError> {
    check_status(response.headers())?;
    if response.status() != StatusCode::OK {
        return Err(RpcError::Http(response.status().as_u16()));
    }
    let kind = response.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    match kind {
        Some(kind) if kind.starts_with(GRPC.as_bytes()) => Ok(()),
        _ => Err(RpcError::Unreadable("the answer is not gRPC".to_owned())),
    }
}

fn check_status(headers: &HeaderMap) -> Result<(), RpcError> {
    let Some(status) = headers.get(GRPC_STATUS) else { return Ok(()) };
    // A status that is no number is taken as UNKNOWN.
    match status.to_str().ok().and_then(|text| text.parse().ok()).unwrap_or(2) {
        0 => Ok(()),
        code => {
            let text = headers.get(GRPC_MESSAGE).map(HeaderValue::as_bytes).unwrap_or_default();
            Err(RpcError::Status { code, message: String::from_utf8_lossy(text).into_owned() })
        }
    }
}

fn decode(frame: Frame) -> Result<Payload, RpcError> {
    match frame {
        Frame::Message(bytes) => Payload::decode(bytes).map_err(|e| RpcError::Unreadable(e.to_string())),
        Frame::TooLarge { size, head } => Err(RpcError::Oversized { size, head }),
        Frame::Compressed => Err(RpcError::Unreadable("a compressed message".to_owned())),
    }
}

/// The server's half of the bidirectional stream.
pub(super) struct StreamReader {
    source: Source,
    frames: Decoder,
}

enum Source {
    Headers(ResponseFuture),
    Body(RecvStream),
}

impl StreamReader {
    /// The next message; `None` at the end of the stream. A message that cannot be read is [`RpcError::Unreadable`] or
    /// [`RpcError::Oversized`] and does not end the stream.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self) -> Result<Option<Payload>, RpcError> {
        loop {
            if let Some(frame) = self.frames.next() {
                return decode(frame).map(Some);
            }
            match &mut self.source {
                Source::Headers(response) => {
                    let response = response.await?;
                    check_head(&response)?;
                    self.source = Source::Body(response.into_body());
                }
                Source::Body(body) => {
                    let Some(chunk) = body.data().await else { return Ok(None) };
                    let chunk = chunk?;
                    body.flow_control().release_capacity(chunk.len())?;
                    self.frames.push(chunk);
                }
            }
        }
    }
}

/// Our half of the bidirectional stream. Dropping it resets the stream.
pub(super) struct StreamWriter {
    body: SendStream<Bytes>,
}

impl StreamWriter {
    /// Writes one message as the server's window allows, so that a server that does not read cannot make us pile up acknowledgements.
    pub(super) async fn send(&mut self, payload: &Payload) -> Result<(), RpcError> {
        let mut frame = encode(payload).ok_or(RpcError::TooLarge)?;
        while !frame.is_empty() {
            self.body.reserve_capacity(frame.len());
            if self.body.capacity() == 0 {
                match poll_fn(|cx| self.body.poll_capacity(cx)).await {
                    Some(Ok(_)) => continue,
                    Some(Err(error)) => return Err(error.into()),
                    None => return Err(RpcError::Reset(h2::Reason::STREAM_CLOSED)),
                }
            }
            let part = frame.split_to(frame.len().min(self.body.capacity()));
            self.body.send_data(part, false)?;
        }
        Ok(())
    }
}
