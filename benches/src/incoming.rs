//! What a server sends on a connection's stream, taken as bytes: a client that parses long lists first measures itself.

use std::collections::VecDeque;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use h2::client::ResponseFuture;
use h2::{RecvStream, SendStream};
use nacos_proto::Payload;
use nacos_proto::grpc::{ClientDetectionResponse, NotifySubscriberResponse};

use super::Failure;
use super::raw::frame;

/// The flag and the length in front of every message.
const PREFIX: usize = 5;
/// So much of a message is kept unless more is asked for, in bytes.
const HEAD: usize = 2_048;

/// The server's half of a stream, and ours to acknowledge by.
#[derive(Debug)]
pub(crate) struct Incoming {
    response: Option<ResponseFuture>,
    body: Option<RecvStream>,
    send: SendStream<Bytes>,
    chunks: VecDeque<Bytes>,
    held: usize,
    /// So much of each message is kept, in bytes.
    kept: usize,
}

/// One message.
#[derive(Debug)]
pub(crate) struct Message {
    /// When its last byte was there.
    pub(crate) at: Instant,
    /// In bytes, with its prefix.
    pub(crate) length: usize,
    head: Bytes,
}

impl Message {
    /// Whether what is kept of it has this text.
    pub(crate) fn has(&self, text: &str) -> bool {
        position(&self.head, text).is_some()
    }

    /// What the server wants to read in the acknowledgement.
    fn request_id(&self) -> Option<String> {
        const KEY: &str = r#""requestId":""#;
        let rest = self.head.get(position(&self.head, KEY)? + KEY.len()..)?;
        let end = rest.iter().position(|byte| *byte == b'"')?;
        Some(String::from_utf8_lossy(rest.get(..end)?).into_owned())
    }
}

fn position(bytes: &[u8], text: &str) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text.as_bytes())
}

impl Incoming {
    pub(crate) fn new(response: ResponseFuture, send: SendStream<Bytes>) -> Self {
        Self { response: Some(response), body: None, send, chunks: VecDeque::new(), held: 0, kept: HEAD }
    }

    /// Keeps whole messages from here on: lists are not sorted on every server.
    pub(crate) fn keep_all(&mut self) {
        self.kept = usize::MAX;
    }

    /// The next message; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Message>, Failure> {
        if let Some(response) = self.response.take() {
            self.body = Some(response.await?.into_body());
        }
        let Some(body) = &mut self.body else { return Ok(None) };
        loop {
            if let Some(message) = take(&mut self.chunks, &mut self.held, self.kept) {
                return Ok(Some(message));
            }
            let Some(chunk) = body.data().await.transpose()? else { return Ok(None) };
            body.flow_control().release_capacity(chunk.len())?;
            self.held += chunk.len();
            self.chunks.push_back(chunk);
        }
    }

    /// Says that a message has come.
    pub(crate) fn acknowledge(&mut self, message: &Message) -> Result<(), Failure> {
        let request_id = message.request_id();
        let answer = if message.has("ClientDetectionRequest") {
            Payload::encode_json(&ClientDetectionResponse { request_id, ..ClientDetectionResponse::default() })
        } else {
            Payload::encode_json(&NotifySubscriberResponse { request_id, ..NotifySubscriberResponse::default() })
        };
        Ok(self.send.send_data(frame(&answer), false)?)
    }
}

/// A whole message, if one is there.
fn take(chunks: &mut VecDeque<Bytes>, held: &mut usize, kept: usize) -> Option<Message> {
    let mut bytes = chunks.iter().flat_map(|chunk| chunk.iter().copied()).skip(1);
    let mut size = [0; PREFIX - 1];
    for byte in &mut size {
        *byte = bytes.next()?;
    }
    let length = PREFIX + u32::from_be_bytes(size) as usize;
    if *held < length {
        return None;
    }
    let at = Instant::now();
    *held -= length;
    let (mut head, mut left) = (BytesMut::new(), length);
    while left > 0 {
        let mut chunk = chunks.pop_front()?;
        let piece = chunk.split_to(left.min(chunk.len()));
        if !chunk.is_empty() {
            chunks.push_front(chunk);
        }
        left -= piece.len();
        head.extend_from_slice(&piece[..piece.len().min(kept - head.len())]);
    }
    Some(Message { at, length, head: head.freeze() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_taken_whole_wherever_the_pieces_end() {
        let text = br#"{"requestId":"7"}"#;
        let mut whole = vec![0, 0, 0, 0, u8::try_from(text.len()).expect("short")];
        whole.extend_from_slice(text);
        let both = [whole.clone(), whole.clone()].concat();
        for cut in 1..both.len() {
            let (mut chunks, mut held) = (VecDeque::new(), 0);
            let mut taken = Vec::new();
            for piece in [&both[..cut], &both[cut..]] {
                held += piece.len();
                chunks.push_back(Bytes::copy_from_slice(piece));
                while let Some(message) = take(&mut chunks, &mut held, HEAD) {
                    taken.push((message.length, message.request_id()));
                }
            }
            assert_eq!(taken, vec![(whole.len(), Some("7".to_owned())); 2], "cut at {cut}");
            assert_eq!(held, 0);
        }
    }
}
