use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::DecodeError;
use crate::lenient;
use crate::payload::decode;

/// Reads a JSON body; `expected` names it in the error.
///
/// # Errors
///
/// [`DecodeError`] when the body is no such object even by the tolerant rules of this crate.
pub fn read<T: DeserializeOwned>(json: &[u8], expected: &'static str) -> Result<T, DecodeError> {
    decode(json, expected)
}

/// The names of a group's services.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServiceNames {
    /// How many there are on all pages.
    #[serde(deserialize_with = "lenient::integer")]
    pub count: i64,
    /// The bare names of this page.
    #[serde(deserialize_with = "lenient::texts")]
    pub doms: Vec<String>,
}

/// The state of a server, from `operator/metrics`; the numbers beside it are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerState {
    /// `UP`, `DOWN`, `STARTING`, `PAUSED`, `WRITE_ONLY` or `READ_ONLY`.
    #[serde(deserialize_with = "lenient::text")]
    pub status: Option<String>,
}

/// What servers write when a filter rejects a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ErrorPage {
    /// The HTTP status.
    #[serde(deserialize_with = "lenient::integer")]
    pub status: i64,
    /// Its standard text.
    #[serde(deserialize_with = "lenient::text")]
    pub error: Option<String>,
    /// What is wrong.
    #[serde(deserialize_with = "lenient::text")]
    pub message: Option<String>,
    /// The path asked for.
    #[serde(deserialize_with = "lenient::text")]
    pub path: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_read_tolerantly() {
        let names: ServiceNames = read(br#"{"count":"2","doms":["a",null,"b"],"x":1} "#, "names").unwrap();
        assert_eq!((names.count, names.doms), (2, vec!["a".to_owned(), "b".to_owned()]));
        let state: ServerState = read(b"\xef\xbb\xbf{\"status\":\"UP\",\"load\":1}", "state").unwrap();
        assert_eq!(state.status.as_deref(), Some("UP"));
        assert!(read::<ServerState>(b"<html>", "state").is_err());
        assert!(read::<ServerState>(b"", "state").is_err());
        assert!(read::<ServerState>(b"[]", "state").is_err());
    }
}
