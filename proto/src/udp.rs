//! The packets of UDP pushes: servers send lists to the clients that speak HTTP, and these acknowledge them.
//!
//! Servers compress a packet of 1 024 bytes or more with gzip; that is undone before reading and not known here.

use serde::Serialize;
use serde_json::Value;

use crate::error::DecodeError;
use crate::grpc::ServiceInfo;
use crate::lenient;

/// Kind of a packet with the list of a service; servers write this one.
pub const DOM: &str = "dom";
/// Another name of [`DOM`] that clients understand.
pub const SERVICE: &str = "service";
/// Kind of a packet that asks a client for everything it knows.
pub const DUMP: &str = "dump";

const PACKET: &str = "UDP packet";
const LIST: &str = "service list";

/// What a server sends to a client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PushPacket {
    /// [`DOM`], [`SERVICE`], [`DUMP`], or anything else.
    #[serde(rename = "type")]
    pub kind: String,
    /// A JSON text: in a push, of a [`ServiceInfo`].
    pub data: String,
    /// A monotonic clock of the server, in no relation to the stamp in `data`; it may be negative. The acknowledgement
    /// returns it.
    pub last_ref_time: i64,
}

impl PushPacket {
    /// Reads a packet. The stamp may be missing (0) or a text, and `data` an object instead of its text.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] when it is no JSON object, or a field is of an impossible type.
    pub fn decode(json: &[u8]) -> Result<Self, DecodeError> {
        let Value::Object(mut packet) = object(json, PACKET)? else {
            return Err(DecodeError::malformed(PACKET, "not a JSON object"));
        };
        let mut take = |name| packet.remove(name).unwrap_or(Value::Null);
        let malformed = |e| DecodeError::malformed(PACKET, e);
        let kind = lenient::text_or_empty(take("type")).map_err(malformed)?;
        let data = match take("data") {
            list @ Value::Object(_) => list.to_string(),
            text => lenient::text_or_empty(text).map_err(malformed)?,
        };
        let last_ref_time = lenient::integer(take("lastRefTime")).map_err(malformed)?;
        Ok(Self { kind, data, last_ref_time })
    }

    /// Whether `data` is the list of a service.
    #[must_use]
    pub fn is_push(&self) -> bool {
        self.kind == DOM || self.kind == SERVICE
    }

    /// Reads the list in `data`.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] when it is no such list even by the tolerant rules of this crate.
    pub fn list(&self) -> Result<ServiceInfo, DecodeError> {
        let list = object(self.data.as_bytes(), LIST)?;
        serde_json::from_value(list).map_err(|e| DecodeError::malformed(LIST, e))
    }

    /// The packet as it travels, not compressed.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        // Texts and a number: writing them to memory cannot fail.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// What a client answers, with `data` where the packet asked for something.
    #[must_use]
    pub fn ack(&self, data: String) -> PushAck {
        let kind = match self.kind.as_str() {
            DOM | SERVICE => "push-ack",
            DUMP => "dump-ack",
            _ => "unknown-ack",
        };
        PushAck { kind, last_ref_time: self.last_ref_time.to_string(), data }
    }
}

/// What a client answers, from the same socket to the sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PushAck {
    #[serde(rename = "type")]
    kind: &'static str,
    /// The stamp of the packet, which is a number there and a text here.
    last_ref_time: String,
    data: String,
}

impl PushAck {
    /// The acknowledgement as it travels.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        // Texts: writing them to memory cannot fail.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

fn object(json: &[u8], expected: &'static str) -> Result<Value, DecodeError> {
    match lenient::first_value(json).map_err(|e| DecodeError::malformed(expected, e))? {
        Value::Null => Err(DecodeError::Null),
        object @ Value::Object(_) => Ok(object),
        _ => Err(DecodeError::malformed(expected, "not a JSON object")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packet(json: &str) -> PushPacket {
        PushPacket::decode(json.as_bytes()).unwrap_or_else(|e| panic!("{json}: {e}"))
    }

    #[test]
    fn each_form_that_servers_write_is_read() {
        let stamp = |json| packet(json).last_ref_time;
        assert_eq!(stamp(r#"{"type":"dom","data":"{}","lastRefTime":-843215908114233}"#), -843_215_908_114_233);
        assert_eq!(stamp(r#"{"type":"dom","data":"{}","lastRefTime":"7"}"#), 7);
        assert_eq!(stamp(r#"{"type":"dom","data":"{}"}"#), 0);
        assert_eq!(stamp(r#"{"type":"dom","data":null,"lastRefTime":null}"#), 0);
        let list = packet(r#"{"type":"dom","data":"{\"name\":\"g@@s\",\"hosts\":[{\"ip\":null}],\"checksum\":null}"}"#);
        assert_eq!(list.list().unwrap().key(), Some(("g", "s")));
        assert_eq!(packet(r#"{"type":"service","data":{"name":"g@@s"}}"#).list().unwrap().key(), Some(("g", "s")));
        assert!(packet("\u{feff} {\"type\":\"dom\"} \n").list().is_err());
    }

    #[test]
    fn what_is_no_packet_is_an_error() {
        for bad in ["", "null", "[]", "7", "\"dom\"", "{", "dom", r#"{"type":{}}"#, r#"{"lastRefTime":"x"}"#] {
            assert!(PushPacket::decode(bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(PushPacket::decode(&[0xff, 0xfe, b'{', b'}']).is_err());
        assert!(packet(r#"{"type":"dom","data":"[]"}"#).list().is_err());
    }

    #[test]
    fn an_acknowledgement_returns_the_stamp_as_a_text() {
        let ack = |kind: &str| {
            let packet = PushPacket { kind: kind.to_owned(), data: String::new(), last_ref_time: -5 };
            String::from_utf8(packet.ack("a\"b".to_owned()).encode()).unwrap()
        };
        assert_eq!(ack("dom"), r#"{"type":"push-ack","lastRefTime":"-5","data":"a\"b"}"#);
        assert_eq!(ack("service"), ack("dom"));
        assert!(ack("dump").contains(r#""dump-ack""#) && ack("").contains(r#""unknown-ack""#));
    }

    proptest! {
        #[test]
        fn a_packet_survives_the_wire(kind: String, data: String, last_ref_time: i64) {
            let packet = PushPacket { kind, data, last_ref_time };
            prop_assert_eq!(PushPacket::decode(&packet.encode()).unwrap(), packet);
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, json in "[\\[\\]{}\",:a-z0-9.-]{0,40}") {
            for text in [&bytes[..], json.as_bytes()] {
                if let Ok(packet) = PushPacket::decode(text) {
                    drop(packet.list());
                }
            }
        }
    }
}
