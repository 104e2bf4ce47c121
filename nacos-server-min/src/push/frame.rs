use bytes::{BufMut, Bytes, BytesMut};
use nacos_proto::Payload;
use nacos_proto::grpc::Message;
use prost::Message as _;

/// Lists up to this size are copied into one piece; larger ones are shared.
const COPY_UP_TO: usize = 4 * 1024;
/// Bytes in front of every gRPC message: a flag and a length.
const PREFIX: usize = 5;

/// A whole gRPC message, in pieces that are written one after the other.
#[derive(Debug, Clone)]
pub(crate) enum Frame {
    One(Bytes),
    Three([Bytes; 3]),
}

impl Frame {
    /// The pieces, without the empty ones.
    pub(crate) fn pieces(self) -> impl Iterator<Item = Bytes> {
        let (first, rest) = match self {
            Self::One(bytes) => (bytes, [Bytes::new(), Bytes::new()]),
            Self::Three([head, list, tail]) => (head, [list, tail]),
        };
        std::iter::once(first).chain(rest).filter(|piece| !piece.is_empty())
    }

    /// A message of the server to the client, with the server's own address in it.
    pub(crate) fn message<M: Message>(message: &M, client_ip: &str) -> Self {
        Self::One(encode(&Payload::encode_json(message).with_client_ip(client_ip)))
    }
}

/// Length-prefixes a payload, uncompressed.
pub(crate) fn encode(payload: &Payload) -> Bytes {
    let length = payload.encoded_len();
    let mut out = BytesMut::with_capacity(PREFIX + length);
    put_prefix(&mut out, length);
    payload.encode_raw(&mut out);
    out.freeze()
}

fn put_prefix(out: &mut BytesMut, length: usize) {
    out.put_u8(0);
    out.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
}

/// Protobuf keys: `metadata` and `body` of the payload, `value` of `Any`; all length-delimited.
const METADATA_KEY: u8 = (2 << 3) | 2;
const BODY_KEY: u8 = (3 << 3) | 2;
const VALUE_KEY: u8 = (2 << 3) | 2;

/// Writes messages of one type around lists that were encoded before, so that one encoded list serves all of them.
#[derive(Debug)]
pub(crate) struct ListFrames {
    /// The encoded `metadata` field.
    metadata: Bytes,
    /// The JSON behind the list.
    tail: &'static [u8],
}

impl ListFrames {
    pub(crate) fn new(kind: &str, client_ip: &str, tail: &'static [u8]) -> Self {
        let payload = Payload::new(kind, Bytes::new()).with_client_ip(client_ip);
        let encoded = payload.metadata.unwrap_or_default().encode_to_vec();
        let mut metadata = BytesMut::new();
        metadata.put_u8(METADATA_KEY);
        put_varint(&mut metadata, encoded.len());
        metadata.put_slice(&encoded);
        Self { metadata: metadata.freeze(), tail }
    }

    /// Pushes of a server at `client_ip`.
    pub(crate) fn pushes(client_ip: &str) -> Self {
        Self::new("NotifySubscriberRequest", client_ip, br#","module":"naming"}"#)
    }

    pub(crate) fn push(&self, id: u64, list: &Bytes) -> Frame {
        self.wrap(&format!(r#"{{"headers":{{}},"requestId":"{id}","serviceInfo":"#), list)
    }

    /// `start`, the list and the tail make up the JSON.
    pub(crate) fn wrap(&self, start: &str, list: &Bytes) -> Frame {
        let json = start.len() + list.len() + self.tail.len();
        let any = 1 + varint_len(json) + json;
        let body = 1 + varint_len(any) + any;
        let copied = if list.len() <= COPY_UP_TO { list.len() + self.tail.len() } else { 0 };
        let mut head = BytesMut::with_capacity(PREFIX + self.metadata.len() + 12 + start.len() + copied);
        put_prefix(&mut head, self.metadata.len() + body);
        head.put_slice(&self.metadata);
        head.put_u8(BODY_KEY);
        put_varint(&mut head, any);
        head.put_u8(VALUE_KEY);
        put_varint(&mut head, json);
        head.put_slice(start.as_bytes());
        if copied > 0 {
            head.put_slice(list);
            head.put_slice(self.tail);
            Frame::One(head.freeze())
        } else {
            Frame::Three([head.freeze(), list.clone(), Bytes::from_static(self.tail)])
        }
    }
}

fn varint_len(value: usize) -> usize {
    prost::encoding::encoded_len_varint(value as u64)
}

fn put_varint(out: &mut BytesMut, value: usize) {
    prost::encoding::encode_varint(value as u64, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(frame: Frame) -> Vec<u8> {
        frame.pieces().flat_map(|piece| piece.to_vec()).collect()
    }

    #[test]
    fn a_push_is_the_message_that_the_codec_would_write_whatever_its_size() {
        let frames = ListFrames::pushes("10.0.0.2");
        for size in [0, 1, 100, 127, 128, 4_095, 4_096, 4_097, 20_000, 300_000] {
            let list = Bytes::from(format!(r#"{{"name":"{}"}}"#, "x".repeat(size)));
            let bytes = join(frames.push(41, &list));
            assert_eq!(bytes.get(..PREFIX).map(<[u8]>::len), Some(PREFIX));
            let length = u32::from_be_bytes(bytes[1..5].try_into().expect("four bytes")) as usize;
            assert_eq!(length, bytes.len() - PREFIX);
            let payload = Payload::decode(&bytes[PREFIX..]).expect("a payload");
            assert_eq!((payload.kind(), payload.client_ip()), ("NotifySubscriberRequest", "10.0.0.2"));
            let json: serde_json::Value = serde_json::from_slice(payload.json()).expect("JSON");
            assert_eq!(json["requestId"], "41");
            assert_eq!(json["serviceInfo"]["name"].as_str().map(str::len), Some(size));
            assert_eq!((&json["module"], json["headers"].is_object()), (&"naming".into(), true));
        }
    }

    #[test]
    fn a_large_list_is_not_copied() {
        let list = Bytes::from(vec![b' '; 100_000]);
        let Frame::Three([_, shared, _]) = ListFrames::pushes("").push(1, &list) else {
            panic!("expected three pieces");
        };
        assert_eq!(shared.as_ptr(), list.as_ptr());
    }
}
