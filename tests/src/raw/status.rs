use std::fmt;

use http::HeaderMap;

/// How a call or a stream ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// Name of the gRPC code, such as `UNIMPLEMENTED`.
    pub name: String,
    /// The text that came with it.
    pub message: String,
}

impl Status {
    pub(super) fn new(name: &str, message: impl fmt::Display) -> Self {
        Self { name: name.to_owned(), message: message.to_string() }
    }

    pub(super) fn from_headers(headers: &HeaderMap) -> Option<Self> {
        const NAMES: [&str; 17] = [
            "OK",
            "CANCELLED",
            "UNKNOWN",
            "INVALID_ARGUMENT",
            "DEADLINE_EXCEEDED",
            "NOT_FOUND",
            "ALREADY_EXISTS",
            "PERMISSION_DENIED",
            "RESOURCE_EXHAUSTED",
            "FAILED_PRECONDITION",
            "ABORTED",
            "OUT_OF_RANGE",
            "UNIMPLEMENTED",
            "INTERNAL",
            "UNAVAILABLE",
            "DATA_LOSS",
            "UNAUTHENTICATED",
        ];
        let code: usize = headers.get("grpc-status")?.to_str().ok()?.parse().ok()?;
        let message = headers.get("grpc-message").and_then(|v| v.to_str().ok()).unwrap_or_default();
        Some(Self::new(NAMES.get(code).unwrap_or(&"?"), percent_decoded(message)))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.message)
    }
}

fn percent_decoded(text: &str) -> String {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code =
            after.get(..2).and_then(|d| std::str::from_utf8(d).ok()).and_then(|d| u8::from_str_radix(d, 16).ok());
        match (first, code) {
            (b'%', Some(byte)) => {
                out.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                out.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_texts_are_percent_decoded() {
        assert_eq!(percent_decoded("a%20b%"), "a b%");
    }
}
