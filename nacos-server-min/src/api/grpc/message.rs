use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{Buf, Bytes, BytesMut};
use http::HeaderMap;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::status::Status;

/// Bytes in front of every message: a flag and a length.
const PREFIX: usize = 5;
/// Messages up to this size are not counted against the memory for half-received ones.
const UNCOUNTED: usize = 64 * 1024;

/// How a request's messages may be packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    Identity,
    Gzip,
}

/// Memory that half-received large messages may take in the whole server.
#[derive(Debug)]
pub(crate) struct Budget {
    left: AtomicUsize,
}

impl Budget {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { left: AtomicUsize::new(bytes) }
    }

    fn take(self: &Arc<Self>, bytes: usize) -> Option<Taken> {
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes))
            .ok()
            .map(|_| Taken { budget: Arc::clone(self), bytes })
    }
}

struct Taken {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.budget.left.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

/// Cuts a request's body into messages.
pub(crate) struct MessageReader {
    body: Incoming,
    packing: Packing,
    limit: usize,
    budget: Arc<Budget>,
    /// Received and not yet used.
    rest: Bytes,
}

impl MessageReader {
    /// # Errors
    ///
    /// A packing that this server does not know.
    pub(crate) fn new(body: Incoming, headers: &HeaderMap, limit: usize, budget: Arc<Budget>) -> Result<Self, Status> {
        let packing = match headers.get("grpc-encoding").map(|value| value.as_bytes()) {
            None | Some(b"identity" | b"") => Packing::Identity,
            Some(b"gzip") => Packing::Gzip,
            Some(other) => {
                let name = String::from_utf8_lossy(other);
                return Err(Status::unimplemented(format!("Can't find decompressor for {name}")));
            }
        };
        Ok(Self { body, packing, limit, budget, rest: Bytes::new() })
    }

    /// The only message of a unary request, after its end.
    pub(crate) async fn only(mut self) -> Result<Bytes, Status> {
        let Some(message) = self.next().await? else {
            return Err(Status::internal("Half-closed without a request"));
        };
        // Waiting for the end costs nothing, while answering before it would reset the stream.
        if self.rest.is_empty() && self.more().await?.is_none() {
            Ok(message)
        } else {
            Err(Status::internal("Too many requests"))
        }
    }

    /// The next message of a stream; `None` at its end.
    ///
    /// # Cancel safety
    ///
    /// Not safe: a message received in part is lost.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Status> {
        while self.rest.is_empty() {
            match self.more().await? {
                Some(data) => self.rest = data,
                None => return Ok(None),
            }
        }
        let mut prefix = self.take(PREFIX).await?;
        let packed = prefix.get_u8();
        let length = usize::try_from(prefix.get_u32()).unwrap_or(usize::MAX);
        if length > self.limit {
            return Err(self.too_large(length));
        }
        let _taken = if length > UNCOUNTED {
            let taken = self.budget.take(length);
            Some(taken.ok_or_else(|| Status::exhausted("too many large messages at a time".into()))?)
        } else {
            None
        };
        let message = self.take(length).await?;
        match (packed, self.packing) {
            (0, _) => Ok(Some(message)),
            (1, Packing::Gzip) => self.unpack(&message).map(Some),
            (1, Packing::Identity) => Err(Status::internal("Encountered compressed message without an encoding")),
            _ => Err(Status::internal("gRPC frame header malformed: reserved bits not zero")),
        }
    }

    /// Exactly so many bytes: a slice of what came where possible.
    async fn take(&mut self, length: usize) -> Result<Bytes, Status> {
        if self.rest.len() >= length {
            return Ok(self.rest.split_to(length));
        }
        let mut whole = BytesMut::with_capacity(length);
        loop {
            let wanted = (length - whole.len()).min(self.rest.len());
            whole.extend_from_slice(&self.rest.split_to(wanted));
            if whole.len() == length {
                return Ok(whole.freeze());
            }
            let more = self.more().await?;
            self.rest = more.ok_or_else(|| Status::internal("Encountered end-of-stream mid-frame"))?;
        }
    }

    /// The next piece of the body that is not empty.
    async fn more(&mut self) -> Result<Option<Bytes>, Status> {
        loop {
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(_)) => return Err(Status::unavailable("the request was cut off")),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if !data.is_empty() => return Ok(Some(data)),
                    _ => {}
                },
            }
        }
    }

    fn too_large(&self, length: usize) -> Status {
        Status::exhausted(format!("gRPC message exceeds maximum size {}: {length}", self.limit))
    }

    fn unpack(&self, packed: &[u8]) -> Result<Bytes, Status> {
        let mut message = Vec::new();
        let limit = u64::try_from(self.limit).unwrap_or(u64::MAX);
        let mut reader = flate2::read::GzDecoder::new(packed).take(limit.saturating_add(1));
        reader.read_to_end(&mut message).map_err(|_| Status::internal("broken gzip data"))?;
        if message.len() > self.limit { Err(self.too_large(message.len())) } else { Ok(message.into()) }
    }
}
