use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{DecodeError, Failure, ResponseError};
use crate::grpc::{ErrorResponse, Message, Response};
use crate::lenient;
use crate::{Any, Metadata, Payload};

/// HTTP/2 path of the unary method.
pub const REQUEST_PATH: &str = "/Request/request";
/// HTTP/2 path of the bidirectional method.
pub const STREAM_PATH: &str = "/BiRequestStream/requestBiStream";
/// The largest message either side accepts, in bytes.
pub const MAX_MESSAGE_SIZE: usize = 10 * 1024 * 1024;

impl Payload {
    /// A payload of the given type around finished JSON.
    pub fn new(kind: &str, body: Bytes) -> Self {
        Self {
            metadata: Some(Metadata { r#type: kind.to_owned(), ..Metadata::default() }),
            body: Some(Any { type_url: String::new(), value: body }),
        }
    }

    /// A payload that carries `message`.
    pub fn encode_json<M: Message>(message: &M) -> Self {
        Self::new(M::TYPE, message.to_json())
    }

    /// Sets `metadata.clientIp`.
    #[must_use]
    pub fn with_client_ip(mut self, ip: impl Into<String>) -> Self {
        self.metadata.get_or_insert_default().client_ip = ip.into();
        self
    }

    /// Sets one header in `metadata.headers`.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.get_or_insert_default().headers.insert(name.into(), value.into());
        self
    }

    /// The message type; `""` when the payload has no metadata.
    pub fn kind(&self) -> &str {
        self.metadata.as_ref().map_or("", |m| m.r#type.as_str())
    }

    /// The JSON text; empty when the payload has no body.
    pub fn json(&self) -> &[u8] {
        self.body.as_ref().map_or(&[], |b| b.value.as_ref())
    }

    /// The sender's own idea of its address; may be empty.
    pub fn client_ip(&self) -> &str {
        self.metadata.as_ref().map_or("", |m| m.client_ip.as_str())
    }

    /// Reads the body as `M`, whatever type the payload names.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] when the body is no such message even by the tolerant rules of this crate.
    pub fn decode_json<M: Message>(&self) -> Result<M, DecodeError> {
        decode(self.json(), M::TYPE)
    }

    /// Reads the body as the request `M` by the server's rules, which refuse a few things a client must live with, such as
    /// nested values in instance metadata.
    ///
    /// # Errors
    ///
    /// As [`Payload::decode_json`].
    pub fn decode_request<M: Message>(&self) -> Result<M, DecodeError> {
        let message: M = self.decode_json()?;
        if message.is_well_formed() {
            Ok(message)
        } else {
            Err(DecodeError::malformed(M::TYPE, "a metadata value is neither text nor number nor boolean"))
        }
    }

    /// Reads the body as the answer `M`, and tells refusals, foreign types and unreadable bodies apart.
    ///
    /// # Errors
    ///
    /// [`ResponseError::Refused`] for any `resultCode` but 200, in whichever response type it came.
    pub fn decode_response<M: Response>(&self) -> Result<M, ResponseError> {
        let kind = self.kind();
        if kind == M::TYPE {
            let response: M = self.decode_json()?;
            return if response.is_success() { Ok(response) } else { Err(refused(&response, true)) };
        }
        if kind == ErrorResponse::TYPE {
            return Err(refused(&self.decode_json::<ErrorResponse>()?, false));
        }
        Err(ResponseError::WrongType { expected: M::TYPE, received: kind.to_owned() })
    }
}

fn refused<M: Response>(response: &M, typed: bool) -> ResponseError {
    ResponseError::Refused(Failure {
        result_code: response.result_code(),
        error_code: response.error_code(),
        message: response.message().unwrap_or_default().to_owned(),
        typed,
    })
}

/// A strict parser reads what well-behaved peers send; only what it refuses goes through the tolerant one.
pub(crate) fn decode<T: DeserializeOwned>(json: &[u8], expected: &'static str) -> Result<T, DecodeError> {
    // A derived reader would take an array as a struct, by position.
    if json.first() == Some(&b'{')
        && let Ok(message) = serde_json::from_slice(json)
    {
        return Ok(message);
    }
    match lenient::first_value(json).map_err(|e| DecodeError::malformed(expected, e))? {
        Value::Null => Err(DecodeError::Null),
        object @ Value::Object(_) => serde_json::from_value(object).map_err(|e| DecodeError::malformed(expected, e)),
        _ => Err(DecodeError::malformed(expected, "not a JSON object")),
    }
}
