//! gRPC's message framing: one byte of flags, four of length, the message.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use nacos_proto::{MAX_MESSAGE_SIZE, Payload};
use prost::Message;

const PREFIX: usize = 5;
/// So much of a message that is left out is kept: enough to know what it was.
const HEAD: usize = 1024;

/// One framed payload; `None` when it exceeds what peers accept.
pub(super) fn encode(payload: &Payload) -> Option<Bytes> {
    let length = payload.encoded_len();
    let prefix = u32::try_from(length).ok().filter(|_| length <= MAX_MESSAGE_SIZE)?;
    let mut frame = BytesMut::with_capacity(PREFIX + length);
    frame.put_u8(0);
    frame.put_u32(prefix);
    payload.encode(&mut frame).expect("a growable buffer takes every message");
    Some(frame.freeze())
}

/// What a stream of frames holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A message.
    Message(Bytes),
    /// A message of this size, beyond the limit; all but its first bytes are left out.
    TooLarge { size: u32, head: Bytes },
    /// A message in a compression that was never offered; its bytes are left out.
    Compressed,
}

/// Cuts a stream of bytes into frames. It holds at most one message of the largest size.
#[derive(Debug)]
pub(super) struct Decoder {
    /// Of a message, in bytes.
    limit: usize,
    buffer: BytesMut,
    /// Bytes of a message that is left out, still to come.
    skip: usize,
}

impl Decoder {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, buffer: BytesMut::new(), skip: 0 }
    }

    /// Takes the next bytes of the stream; then [`Decoder::next`] until it returns `None`.
    pub(super) fn push(&mut self, mut bytes: Bytes) {
        let skipped = self.skip.min(bytes.len());
        bytes.advance(skipped);
        self.skip -= skipped;
        if !bytes.is_empty() {
            self.buffer.extend_from_slice(&bytes);
        }
    }

    /// The next complete frame.
    pub(super) fn next(&mut self) -> Option<Frame> {
        let mut prefix = self.buffer.get(..PREFIX)?;
        let compressed = prefix.get_u8() != 0;
        let length = prefix.get_u32();
        let size = usize::try_from(length).unwrap_or(usize::MAX);
        if compressed {
            self.leave_out(size);
            return Some(Frame::Compressed);
        }
        if size > self.limit {
            let head = self.buffer.get(PREFIX..PREFIX + size.min(HEAD))?;
            let head = Bytes::copy_from_slice(head);
            self.leave_out(size);
            return Some(Frame::TooLarge { size: length, head });
        }
        if self.buffer.len() < PREFIX + size {
            return None;
        }
        self.buffer.advance(PREFIX);
        Some(Frame::Message(self.buffer.split_to(size).freeze()))
    }

    fn leave_out(&mut self, size: usize) {
        self.buffer.advance(PREFIX);
        let here = size.min(self.buffer.len());
        self.buffer.advance(here);
        self.skip = size - here;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT: usize = 1 << 20;

    fn frame(flag: u8, body: &[u8]) -> Vec<u8> {
        let mut out = vec![flag];
        out.extend(u32::try_from(body.len()).unwrap().to_be_bytes());
        out.extend(body);
        out
    }

    fn all(decoder: &mut Decoder) -> Vec<Frame> {
        std::iter::from_fn(|| decoder.next()).collect()
    }

    #[test]
    fn a_payload_is_framed_and_read_back() {
        let payload = Payload::new("HealthCheckRequest", Bytes::from_static(b"{}"));
        let mut decoder = Decoder::new(LIMIT);
        decoder.push(encode(&payload).unwrap());
        match decoder.next() {
            Some(Frame::Message(bytes)) => assert_eq!(Payload::decode(bytes).unwrap(), payload),
            other => panic!("{other:?}"),
        }
        assert_eq!(decoder.next(), None);
    }

    #[test]
    fn a_payload_beyond_the_limit_is_not_sent() {
        assert!(encode(&Payload::new("X", vec![b' '; MAX_MESSAGE_SIZE].into())).is_none());
        assert!(encode(&Payload::new("X", vec![b' '; MAX_MESSAGE_SIZE - 100].into())).is_some());
    }

    #[test]
    fn what_cannot_be_read_is_left_out_and_the_next_frame_is_not() {
        let mut bytes = frame(1, b"zipped");
        bytes.extend(frame(0, &vec![0; LIMIT + 1]));
        bytes.extend(frame(0, b"good"));
        let mut decoder = Decoder::new(LIMIT);
        let mut seen = Vec::new();
        for chunk in bytes.chunks(100_000) {
            decoder.push(Bytes::copy_from_slice(chunk));
            seen.extend(all(&mut decoder));
            assert!(decoder.buffer.len() <= 100_000, "left-out bytes are not kept");
        }
        let large = Frame::TooLarge { size: u32::try_from(LIMIT + 1).unwrap(), head: vec![0; HEAD].into() };
        assert_eq!(seen, [Frame::Compressed, large, Frame::Message(Bytes::from_static(b"good"))]);
    }

    proptest! {
        #[test]
        fn what_is_too_large_does_not_depend_on_how_it_arrives(size in 101usize..3_000, cut in 1usize..2_000) {
            let bytes = [frame(0, &vec![7; size]), frame(0, b"good")].concat();
            let mut decoder = Decoder::new(100);
            let mut seen = Vec::new();
            for chunk in bytes.chunks(cut) {
                decoder.push(Bytes::copy_from_slice(chunk));
                seen.extend(all(&mut decoder));
            }
            let head = vec![7; size.min(HEAD)].into();
            let large = Frame::TooLarge { size: u32::try_from(size).unwrap(), head };
            prop_assert_eq!(seen, [large, Frame::Message(Bytes::from_static(b"good"))]);
        }

        #[test]
        fn frames_do_not_depend_on_how_the_bytes_arrive(
            bodies in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 0..8),
            cut in 1usize..20,
        ) {
            let bytes: Vec<u8> = bodies.iter().flat_map(|body| frame(0, body)).collect();
            let mut decoder = Decoder::new(LIMIT);
            let mut seen = Vec::new();
            for chunk in bytes.chunks(cut) {
                decoder.push(Bytes::copy_from_slice(chunk));
                seen.extend(all(&mut decoder));
            }
            let want: Vec<Frame> = bodies.into_iter().map(|body| Frame::Message(body.into())).collect();
            prop_assert_eq!(seen, want);
        }

        #[test]
        fn no_bytes_panic(chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..30), 0..20)) {
            let mut decoder = Decoder::new(LIMIT);
            for chunk in chunks {
                decoder.push(chunk.into());
                all(&mut decoder);
            }
        }
    }
}
