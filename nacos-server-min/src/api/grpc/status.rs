use std::borrow::Cow;

use http::{HeaderMap, HeaderValue, Response};

use super::body::GrpcBody;

/// A gRPC status: only for failures of the transport, since the protocol's own errors travel in payloads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    code: u8,
    message: Cow<'static, str>,
}

const CONTENT_TYPE: HeaderValue = HeaderValue::from_static("application/grpc");

impl Status {
    pub(crate) const OK: Self = Self { code: 0, message: Cow::Borrowed("") };

    /// Bytes that are no payload, and what a real server's handlers do not guard.
    pub(crate) const BROKEN: Self = Self { code: 2, message: Cow::Borrowed("Application error processing RPC") };

    pub(crate) fn exhausted(message: String) -> Self {
        Self { code: 8, message: message.into() }
    }

    pub(crate) fn unimplemented(message: String) -> Self {
        Self { code: 12, message: message.into() }
    }

    pub(crate) fn internal(message: &'static str) -> Self {
        Self { code: 13, message: message.into() }
    }

    pub(crate) fn unavailable(message: &'static str) -> Self {
        Self { code: 14, message: message.into() }
    }

    pub(crate) fn trailers(&self) -> HeaderMap {
        let mut trailers = HeaderMap::with_capacity(2);
        self.write(&mut trailers);
        trailers
    }

    /// A response that consists of the status alone.
    pub(crate) fn response(&self) -> Response<GrpcBody> {
        let mut response = Response::new(GrpcBody::Empty);
        response.headers_mut().insert(http::header::CONTENT_TYPE, CONTENT_TYPE);
        self.write(response.headers_mut());
        response
    }

    fn write(&self, headers: &mut HeaderMap) {
        headers.insert("grpc-status", HeaderValue::from(u16::from(self.code)));
        if let (false, Ok(message)) = (self.message.is_empty(), HeaderValue::from_str(&percent_encode(&self.message))) {
            headers.insert("grpc-message", message);
        }
    }
}

/// A response whose messages and status come with its body.
pub(crate) fn ok_response(body: GrpcBody) -> Response<GrpcBody> {
    let mut response = Response::new(body);
    response.headers_mut().insert(http::header::CONTENT_TYPE, CONTENT_TYPE);
    response
}

/// Printable ASCII stands for itself, except for the percent sign.
fn percent_encode(text: &str) -> String {
    use std::fmt::Write;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'%' => out.push_str("%25"),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_header_safe() {
        assert_eq!(percent_encode("100% ü\n"), "100%25 %C3%BC%0A");
        let trailers = Status::exhausted("ü".into()).trailers();
        assert_eq!(trailers["grpc-status"], "8");
        assert_eq!(trailers["grpc-message"], "%C3%BC");
        assert_eq!(Status::OK.trailers().len(), 1);
    }
}
