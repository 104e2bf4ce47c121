//! Answers of the HTTP port.

use std::borrow::Cow;
use std::net::SocketAddr;

use serde_json::Value;

use super::{Difference, Kind, Options, Walk, is_machine_text, short};

/// An answer, recorded or ours.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "an answer has no more than this")]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// The header `Content-Type`, if there is one.
    pub content_type: Option<String>,
    /// The body.
    pub body: String,
}

impl Reply {
    /// What the server would have answered at that address, if this is the answer of a recorded one.
    #[must_use]
    pub fn at(&self, address: SocketAddr) -> Self {
        Self { body: at(address, &self.body).into_owned(), ..self.clone() }
    }
}

/// Address and port of the recorded servers, and how far below it the port of the consensus protocol is.
const RECORDED: (&str, [u16; 2], u16) = ("192.0.2.2", [8348, 8358], 1_000);

/// Compares an answer of the server at `address` with a recorded one.
///
/// Answers of different status are not compared further. A body that is JSON is compared as messages are; any other must be equal
/// byte for byte, unless it is a page of HTML or a text of the recorded server's framework.
pub fn replies(recorded: &Reply, ours: &Reply, address: SocketAddr, options: Options) -> Vec<Difference> {
    if recorded.status != ours.status {
        let text = |reply: &Reply| format!("{} {}", reply.status, short(&Value::from(reply.body.as_str())));
        return vec![Difference::new(Kind::Status, format!("recorded {}, ours {}", text(recorded), text(ours)))];
    }
    let mut differences = Vec::new();
    let normal =
        |content_type: &Option<String>| content_type.as_ref().map(|text| text.replace("; ", ";").to_lowercase());
    if normal(&recorded.content_type) != normal(&ours.content_type) {
        let text = format!("recorded {:?}, ours {:?}", recorded.content_type, ours.content_type);
        differences.push(Difference::new(Kind::ContentType, text));
    }
    let expected = at(address, &recorded.body);
    match (json(&expected), json(&ours.body)) {
        (Some(recorded), Some(ours)) => {
            Walk { options, whole_list: true, out: &mut differences }.value("", &recorded, &ours);
        }
        (Some(_), None) => {
            let text = format!("recorded {}, ours no JSON: {}", recorded.body, ours.body);
            differences.push(Difference::new(Kind::JsonType, text));
        }
        (None, _) if is_page(&expected) && is_page(&ours.body) => {}
        (None, _) if is_machine_text(&expected) && !ours.body.is_empty() => {}
        (None, _) if expected != ours.body => {
            let text = format!("recorded {expected:?}, ours {:?}", ours.body);
            differences.push(Difference::new(Kind::Value, text));
        }
        (None, _) => {}
    }
    differences
}

/// What the recorded server would have said at that address.
fn at(address: SocketAddr, recorded: &str) -> Cow<'_, str> {
    let (host, ports, below) = RECORDED;
    if ![host, "server_port", "local port"].iter().any(|sign| recorded.contains(sign)) {
        return Cow::Borrowed(recorded);
    }
    let mut text = recorded.replace(host, &address.ip().to_string());
    for port in ports {
        text = text.replace(&port.to_string(), &address.port().to_string());
        text = text.replace(&(port - below).to_string(), &address.port().saturating_sub(below).to_string());
    }
    Cow::Owned(text)
}

fn json(body: &str) -> Option<Value> {
    serde_json::from_str(body).ok()
}

fn is_page(body: &str) -> bool {
    let start = body.trim_start().get(..5).unwrap_or_default().to_ascii_lowercase();
    start == "<html" || start == "<!doc"
}
