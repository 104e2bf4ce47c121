//! The recordings in `tests/vectors`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::compare::Reply;

/// What a step of a recorded conversation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(clippy::exhaustive_enums, reason = "the recordings know no other")]
pub enum Action {
    /// A new TCP connection.
    Open,
    /// A new bidirectional stream on a connection.
    OpenStream,
    /// The client ends its half of a stream.
    CloseStream,
    /// The client resets a stream.
    CancelStream,
    /// The server ended a stream.
    StreamEnded,
    /// The client closes the TCP connection.
    Close,
    /// A pause, to see whether something comes.
    Wait,
    /// An operator asks the server to send a connection elsewhere.
    Reset,
    /// An operator's call to the HTTP port; `type` is the method, `text` the form, `answer` the status.
    Http,
    /// A unary call.
    Call,
    /// The client writes to a stream.
    Send,
    /// The server wrote to a stream.
    Recv,
}

/// One step of a recorded conversation with a server.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Step {
    /// `scenario/step`, with `#n` for the n-th step of that name.
    pub step: String,
    /// What happened.
    #[serde(rename = "do")]
    pub action: Action,
    /// Label of the TCP connection within the scenario; absent where the operator named an unknown connection.
    pub conn: Option<String>,
    /// Milliseconds; only differences within a scenario mean something.
    pub t: u64,
    /// Label of the stream.
    pub stream: Option<String>,
    /// How the server ended a stream: gRPC status name and text.
    pub status: Option<String>,
    /// Where a reset sends the client.
    pub target: Option<String>,
    /// HTTP/2 path, where not the usual one.
    pub path: Option<String>,
    /// gRPC status name and text of a call that failed.
    pub grpc_status: Option<String>,
    /// False: the payload has no metadata.
    pub metadata: Option<bool>,
    /// `Any.type_url`, where not empty.
    pub type_url: Option<String>,
    /// `metadata.clientIp`, where not `127.0.0.1`.
    pub client_ip: Option<String>,
    /// `metadata.headers`.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// True: this message answers a message of the server.
    #[serde(default)]
    pub acks: bool,
    /// Message type; absent: the payload has none.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The body, byte for byte, where it is ordinary JSON.
    pub body: Option<Box<RawValue>>,
    /// The body where it is not.
    pub text: Option<String>,
    /// Hex of the whole message, where it is no payload.
    pub raw: Option<String>,
    /// True: the request message was compressed.
    #[serde(default)]
    pub gzip: bool,
    /// The body has a filler member that brings it to this many bytes.
    pub pad_to: Option<usize>,
    /// Type of the answer; absent where the call failed or is no call.
    pub answer: Option<String>,
    /// The answer's body.
    pub answer_body: Option<Box<RawValue>>,
}

impl Step {
    /// The part of the name before the slash.
    pub fn scenario(&self) -> &str {
        self.step.split('/').next().unwrap_or_default()
    }

    /// The body as bytes.
    pub fn body_text(&self) -> String {
        if let Some(size) = self.pad_to {
            let frame = r#"{"headers":{},"pad":""}"#;
            let filler = "x".repeat(size.saturating_sub(frame.len()));
            return format!(r#"{{"headers":{{}},"pad":"{filler}"}}"#);
        }
        match (&self.body, &self.text) {
            (Some(body), _) => body.get().to_owned(),
            (None, Some(text)) => text.clone(),
            (None, None) => String::new(),
        }
    }
}

/// What another server answered or pushed at a step of the same conversation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Answer {
    /// The step, named as in [`Step::step`].
    pub step: String,
    /// Type of a message on the stream.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Body of a message on the stream.
    pub body: Option<Box<RawValue>>,
    /// Type of the answer to a call.
    pub answer: Option<String>,
    /// Body of the answer to a call.
    pub answer_body: Option<Box<RawValue>>,
    /// gRPC status of a failed call.
    pub grpc_status: Option<String>,
}

impl Answer {
    /// Type and body of the message, whichever way it came.
    pub fn message(&self) -> Option<(&str, &str)> {
        let kind = self.kind.as_deref().or(self.answer.as_deref())?;
        let body = self.body.as_deref().or(self.answer_body.as_deref())?;
        Some((kind, body.get()))
    }
}

/// What a client sent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Sent {
    /// The client and its version.
    pub peer: String,
    /// Number, phase and kind.
    pub name: String,
    /// `unary` or `stream`.
    pub channel: String,
    /// Message type.
    #[serde(rename = "type")]
    pub kind: String,
    /// `metadata.headers`.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// `metadata.clientIp`.
    pub client_ip: String,
    /// `Any.type_url`.
    #[serde(default)]
    pub type_url: String,
    /// The body, byte for byte, where it is compact JSON.
    pub body: Option<Box<RawValue>>,
    /// The body where it is not.
    pub text: Option<String>,
    /// Hex of the whole payload, for some.
    pub payload_hex: Option<String>,
}

impl Sent {
    /// The body as text.
    pub fn body_text(&self) -> &str {
        self.body.as_deref().map_or_else(|| self.text.as_deref().unwrap_or_default(), RawValue::get)
    }
}

/// A call to the HTTP port and its answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Exchange {
    /// `group/name`.
    pub call: String,
    /// The method.
    pub method: String,
    /// The path, with the context path.
    pub path: String,
    /// The query as it was sent.
    #[serde(default)]
    pub query: String,
    /// The headers that were sent, but for those that every request has.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body of a form.
    pub form: Option<String>,
    /// Any other body.
    pub body: Option<String>,
    /// The pause before the call in milliseconds, where it means something.
    #[serde(default)]
    pub delay_ms: u64,
    /// The answer's status.
    pub status: u16,
    /// The answer's content type.
    pub content_type: Option<String>,
    /// The answer's body, byte for byte, where it is JSON.
    json: Option<Box<RawValue>>,
    /// The answer's body where it is not.
    text: Option<String>,
}

impl Exchange {
    /// The part of the name before the slash.
    pub fn group(&self) -> &str {
        self.call.split('/').next().unwrap_or_default()
    }

    /// The recorded answer.
    pub fn reply(&self) -> Reply {
        let body = self.json.as_deref().map(RawValue::get).or(self.text.as_deref()).unwrap_or_default();
        Reply { status: self.status, content_type: self.content_type.clone(), body: body.to_owned() }
    }
}

/// How the receiver of recorded datagrams acknowledged them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(clippy::exhaustive_enums, reason = "the recordings know no other")]
pub enum Acks {
    /// From the socket that got them.
    Same,
    /// From another socket.
    Other,
    /// Not at all.
    None,
}

/// Calls with a port for pushes in them, and the datagrams that came to that port.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct UdpCase {
    /// What it is about.
    pub case: String,
    /// How the datagrams were acknowledged.
    pub ack: Acks,
    /// The calls, in order; `<port>` in a query is the receiver's.
    pub calls: Vec<UdpCall>,
    /// The datagrams, in order.
    pub packets: Vec<UdpPacket>,
}

/// One of the calls.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct UdpCall {
    /// Milliseconds since the case began.
    pub at: u64,
    /// The method.
    pub method: String,
    /// The path, with the context path.
    pub path: String,
    /// The query as it was sent, but for the port.
    pub query: String,
    /// The headers that were sent, but for those that every request has.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The answer's status.
    pub status: u16,
    /// The answer's body, byte for byte, where it is JSON.
    json: Option<Box<RawValue>>,
    /// The answer's body where it is not.
    text: Option<String>,
}

impl UdpCall {
    /// The answer's body.
    pub fn body(&self) -> &str {
        self.json.as_deref().map(RawValue::get).or(self.text.as_deref()).unwrap_or_default()
    }
}

/// A datagram.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct UdpPacket {
    /// Milliseconds since the case began.
    pub at: u64,
    /// Its text, if it came as such.
    plain: Option<String>,
    /// Hex of its bytes, if it came compressed.
    gzip: Option<String>,
}

impl UdpPacket {
    /// The datagram as it came.
    pub fn bytes(&self) -> Vec<u8> {
        match (&self.plain, &self.gzip) {
            (Some(text), _) => text.clone().into_bytes(),
            (None, hexadecimal) => hex(hexadecimal.as_deref().unwrap_or_default()),
        }
    }
}

/// Pushes of Nacos 2.5.1 by UDP, and the calls that led to them.
pub fn udp_2_5_1() -> Vec<UdpCase> {
    load("http/udp-2.5.1.json")
}

/// Calls of v1 and v2 to Nacos 2.5.1, in order.
pub fn http_2_5_1() -> Vec<Exchange> {
    load("http/nacos-2.5.1.json")
}

/// Calls of v3 to Nacos 3.0.3, in order.
pub fn http_3_0_3() -> Vec<Exchange> {
    load("http/nacos-3.0.3.json")
}

/// The conversation with Nacos 2.5.1.
pub fn nacos_2_5_1() -> Vec<Step> {
    load("grpc/nacos-2.5.1.json")
}

/// What Nacos 3.0.3 answered and pushed in the same conversation.
pub fn nacos_3_0_3() -> Vec<Answer> {
    load("grpc/nacos-3.0.3.json")
}

/// What r-nacos 0.8.8 answered and pushed in the same conversation.
pub fn r_nacos() -> Vec<Answer> {
    load("grpc/r-nacos-0.8.8.json")
}

/// What foreign clients send.
pub fn clients() -> Vec<Sent> {
    load("clients/grpc.json")
}

/// Bytes from hexadecimal text.
///
/// # Panics
///
/// When the text is no hexadecimal text.
pub fn hex(text: &str) -> Vec<u8> {
    let digit = |c: u8| char::from(c).to_digit(16).expect("hexadecimal text");
    text.as_bytes()
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => u8::try_from(digit(*high) * 16 + digit(*low)).expect("two digits fit a byte"),
            _ => panic!("an odd number of digits"),
        })
        .collect()
}

fn load<T: DeserializeOwned>(path: &str) -> Vec<T> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vectors").join(path);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
