use std::collections::BTreeMap;

use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::route::{RequestHead, RequestTags};

/// A request that was written down, for a dry run of rules. As JSON, of which everything may be left out:
///
/// ```json
/// { "method": "GET", "uri": "/orders?page=2", "headers": { "x-version": "v2", "cookie": ["a=1", "b=2"] }, "tags": { "tenant": "acme" } }
/// ```
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    extensions: Extensions,
}

/// A text that is no recorded request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct RecordedRequestError {
    reason: String,
}

impl RecordedRequest {
    /// Reads a JSON object, such as a line of a log.
    ///
    /// # Errors
    ///
    /// If it is none, or has other keys, or no request can have these values.
    pub fn from_json(text: &str) -> Result<Self, RecordedRequestError> {
        // A list would be taken for the values of the keys in their order.
        if !text.trim_start().starts_with('{') {
            return Err(RecordedRequestError {
                reason: "a request is a JSON object, such as {\"uri\": \"/orders\"}".to_owned(),
            });
        }
        serde_json::from_str(text).map_err(|error| RecordedRequestError { reason: error.to_string() })
    }

    /// What rules look at.
    #[must_use]
    pub fn head(&self) -> RequestHead<'_> {
        RequestHead { method: &self.method, uri: &self.uri, headers: &self.headers, extensions: &self.extensions }
    }
}

impl<B> From<&Request<B>> for RecordedRequest {
    fn from(request: &Request<B>) -> Self {
        let mut extensions = Extensions::new();
        if let Some(tags) = request.extensions().get::<RequestTags>() {
            extensions.insert(tags.clone());
        }
        let (method, uri, headers) = (request.method().clone(), request.uri().clone(), request.headers().clone());
        Self { method, uri, headers, extensions }
    }
}

/// As it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a request with method, uri, headers and tags, each of which may be left out")]
struct Written {
    #[serde(default = "get")]
    method: String,
    #[serde(default = "root")]
    uri: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, Values>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    tags: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "the value of a header is a text or a list of texts")]
enum Values {
    One(String),
    Several(Vec<String>),
}

fn get() -> String {
    "GET".to_owned()
}

fn root() -> String {
    "/".to_owned()
}

impl<'de> Deserialize<'de> for RecordedRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Written::deserialize(deserializer)?;
        read(written).map_err(serde::de::Error::custom)
    }
}

fn read(written: Written) -> Result<RecordedRequest, String> {
    let Written { method, uri, headers, tags } = written;
    let mut extensions = Extensions::new();
    if !tags.is_empty() {
        extensions.insert(tags.into_iter().fold(RequestTags::new(), |tags, (name, value)| tags.with(name, value)));
    }
    let mut map = HeaderMap::new();
    for (name, values) in headers {
        let values = match values {
            Values::One(value) => vec![value],
            Values::Several(values) => values,
        };
        let name: HeaderName = name.parse().map_err(|_| format!("{name:?} cannot be the name of a header"))?;
        for value in values {
            let value = HeaderValue::from_str(&value).map_err(|_| format!("the header {name} cannot be {value:?}"))?;
            map.try_append(&name, value).map_err(|_| "too many headers".to_owned())?;
        }
    }
    Ok(RecordedRequest {
        method: Method::from_bytes(method.as_bytes()).map_err(|_| format!("{method:?} is no method"))?,
        uri: uri.parse().map_err(|error| format!("{uri:?} is no URI: {error}"))?,
        headers: map,
        extensions,
    })
}

/// Header values that are not UTF-8 are written with a replacement for what is not.
impl Serialize for RecordedRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let headers = self.headers.keys().map(|name| {
            let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
            let mut values: Vec<_> = self.headers.get_all(name).iter().map(text).collect();
            let values = if values.len() == 1 { Values::One(values.remove(0)) } else { Values::Several(values) };
            (name.to_string(), values)
        });
        let tags = self.extensions.get::<RequestTags>().map(|tags| tags.entries().clone()).unwrap_or_default();
        let (method, uri) = (self.method.to_string(), self.uri.to_string());
        Written { method, uri, headers: headers.collect(), tags }.serialize(serializer)
    }
}
