use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Deserialize;
use serde_json::Value;

/// Packets of this size and more are compressed.
const COMPRESS_FROM: usize = 1_024;
/// The most that one datagram can carry.
pub(super) const MAX_DATAGRAM: usize = 65_507;
/// Go clients read no more of a datagram, and cannot read what was cut off.
pub(super) const SMALL_BUFFER: usize = 4_024;

/// A list, ready to be sent to any number of subscribers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Packet {
    /// The number that an acknowledgement repeats. It means nothing, and no two lists have the same.
    pub(super) stamp: i64,
    pub(super) bytes: Bytes,
}

impl Packet {
    /// `list` is the JSON of a list; it travels as a text inside of the packet's own.
    pub(super) fn new(list: &[u8], stamp: i64) -> Self {
        let list = Value::String(String::from_utf8_lossy(list).into_owned());
        let plain = format!(r#"{{"type":"dom","data":{list},"lastRefTime":{stamp}}}"#).into_bytes();
        let bytes = if plain.len() < COMPRESS_FROM { plain } else { compressed(&plain) };
        Self { stamp, bytes: bytes.into() }
    }
}

fn compressed(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Memory takes everything, so neither can fail; if they did, the uncompressed packet would be as good.
    let written = encoder.write_all(plain).and_then(|()| encoder.finish());
    written.unwrap_or_else(|_| plain.to_vec())
}

/// The number that a datagram acknowledges; `None` if it acknowledges nothing. Its type does not matter.
pub(super) fn acknowledged(datagram: &[u8]) -> Option<i64> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Ack {
        last_ref_time: Number,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Number {
        Number(i64),
        Text(String),
    }
    match serde_json::from_slice(datagram).ok()? {
        Ack { last_ref_time: Number::Number(number) } => Some(number),
        Ack { last_ref_time: Number::Text(text) } => text.trim().parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn plain(packet: &Packet) -> String {
        if !packet.bytes.starts_with(&[0x1f, 0x8b]) {
            return String::from_utf8(packet.bytes.to_vec()).expect("JSON is a text");
        }
        let mut text = String::new();
        flate2::read::GzDecoder::new(&packet.bytes[..]).read_to_string(&mut text).expect("whole");
        text
    }

    #[test]
    fn a_list_travels_as_a_text() {
        let packet = Packet::new(br#"{"name":"G@@s","hosts":[]}"#, 7);
        let expected = r#"{"type":"dom","data":"{\"name\":\"G@@s\",\"hosts\":[]}","lastRefTime":7}"#;
        assert_eq!(plain(&packet), expected);
        assert_eq!(packet.bytes, expected.as_bytes());
    }

    #[test]
    fn packets_are_compressed_from_1024_bytes_on() {
        let frame = plain(&Packet::new(b"", 7)).len();
        for (size, compressed) in [(1_023, false), (1_024, true)] {
            let packet = Packet::new(&vec![b'x'; size - frame], 7);
            assert_eq!(plain(&packet).len(), size);
            assert_eq!(packet.bytes.starts_with(&[0x1f, 0x8b, 8]), compressed, "{size}");
        }
    }

    #[test]
    fn acknowledgements_of_all_clients_are_read_and_nothing_else_is() {
        for text in [
            r#"{"type": "push-ack", "lastRefTime":"12", "data":""}"#,
            r#"{"type":"push-ack","lastRefTime":12,"data":""}"#,
            r#"{"type":"unknow-ack","lastRefTime":" 12 "}"#,
        ] {
            assert_eq!(acknowledged(text.as_bytes()), Some(12), "{text}");
        }
        for junk in [
            &b""[..],
            b"{}",
            b"\xff\xfe",
            b"OPTIONS sip:nm SIP/2.0",
            br#"{"lastRefTime":"x"}"#,
            br#"{"lastRefTime":1.5}"#,
        ] {
            assert_eq!(acknowledged(junk), None, "{junk:?}");
        }
    }
}
