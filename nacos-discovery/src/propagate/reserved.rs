use http::HeaderName;

use super::PropagationError;

const OF_CONNECTION: [&str; 11] = [
    "connection",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
const OF_MESSAGE: [&str; 4] = ["accept-encoding", "expect", "max-forwards", "range"];
/// What gRPC says of a call, such as its encoding and its time limit, is the affair of its own implementation.
const OF_MESSAGE_PREFIXES: [&str; 3] = ["content-", "grpc-", "if-"];
const CREDENTIALS: [&str; 2] = ["authorization", "cookie"];

/// Reads the name of a header that may be passed on, credentials included.
pub(super) fn checked(name: &str) -> Result<HeaderName, PropagationError> {
    let Ok(header) = HeaderName::try_from(name) else { return Err(PropagationError::Name { name: name.to_owned() }) };
    let text = header.as_str();
    if OF_CONNECTION.contains(&text) {
        return Err(PropagationError::Connection { name: header });
    }
    if OF_MESSAGE.contains(&text) || OF_MESSAGE_PREFIXES.iter().any(|prefix| text.starts_with(prefix)) {
        return Err(PropagationError::Message { name: header });
    }
    Ok(header)
}

/// The same, without those that are known to hold credentials.
pub(super) fn plain(name: &str) -> Result<HeaderName, PropagationError> {
    let name = checked(name)?;
    if CREDENTIALS.contains(&name.as_str()) { Err(PropagationError::Credentials { name }) } else { Ok(name) }
}
