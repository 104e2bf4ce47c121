use std::collections::HashMap;
use std::collections::hash_map::Entry;

use axum::body::Body;
use axum::extract::{FromRequest, OriginalUri, Request};
use axum::http::request::Parts;
use axum::http::{Extensions, Uri, header};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;

use super::{multipart, reply};

/// Largest form that is read, in bytes. Bodies of other types are not.
const MAX_FORM: usize = 2 * 1024 * 1024;
/// What is read of a larger one without being kept, in bytes, so that its sender gets to read why it is refused.
const MAX_DROPPED: usize = 8 * 1024 * 1024;
/// Further parameters count as missing.
const MAX_PARAMS: usize = 10_000;

/// The parameters of a request, of its query and of its form body alike, whatever its method.
#[derive(Debug, Default)]
pub(super) struct Params {
    /// Hashed, because a hostile request has thousands of names.
    values: HashMap<String, String>,
    seen: usize,
}

/// What becomes of a pair that is not properly encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unreadable {
    Dropped,
    /// Some clients do not encode the body of a PUT at all.
    TakenAsItStands,
}

impl Params {
    fn add(&mut self, encoded: &str, unreadable: Unreadable) {
        for pair in encoded.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match (decode(name), decode(value)) {
                (Some(name), Some(value)) => self.put(name, value),
                _ if unreadable == Unreadable::TakenAsItStands => self.put(name.to_owned(), value.to_owned()),
                _ => {}
            }
        }
    }

    fn put(&mut self, name: String, value: String) {
        self.seen += 1;
        if self.seen > MAX_PARAMS {
            return;
        }
        match self.values.entry(name) {
            Entry::Vacant(vacant) => {
                vacant.insert(value);
            }
            // The real server joins group and service from the first values. The values of any other repeated name it puts
            // into a hash set and takes what comes out first.
            Entry::Occupied(mut known) => {
                if !known.key().ends_with("Name") && bucket(&value) < bucket(known.get()) {
                    known.insert(value);
                }
            }
        }
    }

    /// Those of a request whose form is `body`, if it has one.
    pub(super) fn of(head: &Parts, body: &[u8]) -> Self {
        let mut params = Self::of_query(head.uri.query().unwrap_or_default());
        let content_type = content_type(head);
        let body = String::from_utf8_lossy(body);
        if is_type(content_type, URL_ENCODED) {
            params.add(&body, Unreadable::TakenAsItStands);
        } else if is_type(content_type, MULTIPART) {
            multipart::fields(content_type, &body).for_each(|(name, value)| params.put(name, value));
        }
        params
    }

    /// Those of a request that has no body.
    pub(super) fn of_query(query: &str) -> Self {
        let mut params = Self::default();
        params.add(query, Unreadable::Dropped);
        params
    }

    /// The value of that name, as sent; blank counts as absent.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.raw(name).filter(|value| !value.trim().is_empty())
    }

    /// As [`Params::get`], also when it is blank.
    pub(super) fn raw(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }
}

impl<S: Sync> FromRequest<S> for Params {
    type Rejection = Response;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Response> {
        let (head, body) = request.into_parts();
        match form(&head, body).await {
            Ok(body) => Ok(Self::of(&head, &body)),
            Err(NoForm::CutOff) => Ok(Self::of(&head, &[])),
            Err(NoForm::TooLarge) => Err(too_large(&head)),
        }
    }
}

const URL_ENCODED: &str = "application/x-www-form-urlencoded";
const MULTIPART: &str = "multipart/form-data";

/// Why there are no parameters in a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoForm {
    /// It ends in the middle.
    CutOff,
    /// It is larger than [`MAX_FORM`].
    TooLarge,
}

/// Whether the body of a request is a form.
pub(super) fn has_form(head: &Parts) -> bool {
    let content_type = content_type(head);
    is_type(content_type, URL_ENCODED) || is_type(content_type, MULTIPART)
}

/// The form of a request, empty if it has none.
pub(super) async fn form(head: &Parts, mut body: Body) -> Result<Bytes, NoForm> {
    let (mut kept, mut seen) = (BytesMut::new(), 0);
    if !has_form(head) {
        return Ok(Bytes::new());
    }
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| NoForm::CutOff)?.into_data() else { continue };
        seen += data.len();
        if seen <= MAX_FORM {
            kept.extend_from_slice(&data);
        } else if seen > MAX_FORM + MAX_DROPPED {
            break;
        }
    }
    if seen > MAX_FORM { Err(NoForm::TooLarge) } else { Ok(kept.freeze()) }
}

/// The answer to a form that is too large.
pub(super) fn too_large(head: &Parts) -> Response {
    let message = format!("a form of more than {MAX_FORM} bytes is not read");
    reply::error_page(413, "Payload Too Large", &message, asked_path(&head.extensions, &head.uri))
}

/// The path that was asked for, before routers took anything off it.
pub(super) fn asked_path<'a>(extensions: &'a Extensions, uri: &'a Uri) -> &'a str {
    extensions.get::<OriginalUri>().map_or(uri, |original| &original.0).path()
}

fn content_type(head: &Parts) -> &str {
    head.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Whether a content type is `kind`, with or without attributes.
fn is_type(content_type: &str, kind: &str) -> bool {
    content_type.split(';').next().is_some_and(|found| found.trim().eq_ignore_ascii_case(kind))
}

/// Takes `+` and `%20` for a blank; `None` if a percent sign is not followed by two digits, or the bytes are no UTF-8.
fn decode(text: &str) -> Option<String> {
    if !text.bytes().any(|byte| matches!(byte, b'+' | b'%')) {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digit = |byte: Option<u8>| byte.and_then(|b| char::from(b).to_digit(16));
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

/// Where Java's smallest hash set keeps a text.
fn bucket(text: &str) -> u32 {
    let hash = text.encode_utf16().fold(0u32, |hash, unit| hash.wrapping_mul(31).wrapping_add(u32::from(unit)));
    (hash ^ (hash >> 16)) & 15
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded_once_and_empty_pairs_ignored() {
        let mut params = Params::default();
        params.add("?&a=b&c=1%202+3&empty=&nothing&", Unreadable::Dropped);
        assert_eq!(params.get("a"), Some("b"));
        assert_eq!(params.get("c"), Some("1 2 3"));
        assert_eq!((params.get("empty"), params.raw("empty")), (None, Some("")));
        assert_eq!((params.raw("nothing"), params.raw("absent")), (Some(""), None));
    }

    #[test]
    fn a_pair_that_cannot_be_decoded_is_dropped_from_a_query_only() {
        let mut query = Params::default();
        query.add("a=%zz&b=%E8&c=1%2", Unreadable::Dropped);
        assert_eq!([query.raw("a"), query.raw("b"), query.raw("c")], [None; 3]);
        let mut form = Params::default();
        form.add("json={\"a\":\"100%\"}&b=1%202", Unreadable::TakenAsItStands);
        assert_eq!((form.get("json"), form.get("b")), (Some("{\"a\":\"100%\"}"), Some("1 2")));
    }

    #[test]
    fn of_repeated_values_the_recorded_one_counts() {
        let mut params = Params::default();
        let query = "port=1001&port=1002&ip=10.9.0.1&ip=10.9.0.2&serviceName=t-dup2&serviceName=t-dup3";
        params.add(query, Unreadable::Dropped);
        let seen = ["port", "ip", "serviceName"].map(|name| params.get(name));
        assert_eq!(seen, [Some("1002"), Some("10.9.0.1"), Some("t-dup2")]);
    }

    #[test]
    fn more_than_so_many_parameters_count_as_missing() {
        let mut params = Params::default();
        params.add(&"a=1&".repeat(MAX_PARAMS), Unreadable::Dropped);
        params.add("b=1", Unreadable::Dropped);
        assert_eq!((params.get("a"), params.get("b")), (Some("1"), None));
    }
}
