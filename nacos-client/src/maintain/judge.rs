//! What an answer means.

use serde_json::Value;

use super::error::MaintainError;
use crate::{error::ServerRefusal, exchange::Answer, transport::http::said};

/// Codes of the envelope of 2.x and 3.x.
mod code {
    pub(super) const ACCESS_DENIED: i64 = 10_001;
    pub(super) const NOT_FOUND: i64 = 20_004;
    pub(super) const INSTANCE_NOT_FOUND: i64 = 21_003;
    pub(super) const SERVICE_EXISTS: i64 = 21_007;
    pub(super) const NO_SERVICE: i64 = 21_008;
    pub(super) const NO_NAMESPACE: i64 = 22_001;
    pub(super) const NAMESPACE_EXISTS: i64 = 22_002;
}

/// Why a server did not do it.
#[derive(Debug)]
pub(super) enum Rejected {
    /// The path does not exist, or not any more.
    NoSuchCall,
    /// What is asked about does not exist.
    Missing,
    /// What is to be made exists.
    Exists,
    /// 401, 403.
    Denied(ServerRefusal),
    /// Something in the request is wrong, or so the server says.
    Refused(ServerRefusal),
    /// The server failed.
    Failed(ServerRefusal),
    /// No answer of the protocol.
    Foreign(String),
}

impl Rejected {
    /// The error, for a call named `call` about `what`.
    pub(super) fn error(self, call: &str, what: &str) -> MaintainError {
        match self {
            Self::NoSuchCall => MaintainError::Unsupported { call: call.to_owned() },
            Self::Missing => MaintainError::NotFound { what: what.to_owned() },
            Self::Exists => MaintainError::Exists { what: what.to_owned() },
            Self::Denied(refusal) => MaintainError::Denied(refusal),
            Self::Refused(refusal) => MaintainError::Refused(refusal),
            Self::Failed(refusal) => MaintainError::Server(refusal),
            Self::Foreign(text) => MaintainError::Protocol(text),
        }
    }
}

/// The content of a success: that of the envelope, if there is one; a text, if the body is no JSON.
pub(super) fn judge(answer: &Answer) -> Result<Value, Rejected> {
    let json: Option<Value> = serde_json::from_slice(&answer.body).ok();
    let code = json.as_ref().and_then(|json| json.get("code")).and_then(Value::as_i64);
    let refusal = |code: i64| ServerRefusal {
        code: i32::try_from(code).unwrap_or(i32::MAX),
        message: text(answer, json.as_ref()),
    };
    let status = answer.status.as_u16();
    if answer.status.is_success() {
        return match (json, code) {
            (None, _) if answer.body.is_empty() => Err(Rejected::Foreign("an empty body".to_owned())),
            (None, _) => Ok(Value::String(String::from_utf8_lossy(&answer.body).trim().to_owned())),
            // 0 since v2, 200 in v1.
            (Some(mut json), Some(0 | 200)) => Ok(json.get_mut("data").map(Value::take).unwrap_or_default()),
            (Some(_), Some(code::NOT_FOUND | code::INSTANCE_NOT_FOUND)) => Err(Rejected::Missing),
            (Some(json), Some(code)) => {
                let message = text(answer, Some(&json));
                Err(Rejected::Refused(ServerRefusal { code: i32::try_from(code).unwrap_or(i32::MAX), message }))
            }
            (Some(json), None) => Ok(json),
        };
    }
    Err(match (status, code) {
        (_, Some(code::NOT_FOUND | code::INSTANCE_NOT_FOUND | code::NO_SERVICE | code::NO_NAMESPACE)) => {
            Rejected::Missing
        }
        (_, Some(code::SERVICE_EXISTS | code::NAMESPACE_EXISTS)) => Rejected::Exists,
        (401 | 403, _) | (_, Some(code::ACCESS_DENIED)) => Rejected::Denied(refusal(403)),
        (405 | 410 | 501, _) => Rejected::NoSuchCall,
        // The page of a web framework, or none at all: it knows no such path. Naming itself says it in an envelope or in words.
        (404, _) if code.is_none() && (json.is_some() || answer.body.is_empty()) => Rejected::NoSuchCall,
        (404, _) => Rejected::Missing,
        (300..=399, _) => Rejected::Foreign(format!("a redirection, status {status}")),
        (400..=499, code) => Rejected::Refused(refusal(code.unwrap_or_else(|| i64::from(status)))),
        (500..=599, code) => Rejected::Failed(refusal(code.unwrap_or_else(|| i64::from(status)))),
        _ => Rejected::Foreign(format!("status {status}")),
    })
}

/// What the server says to people: in an envelope the detail, if there is one.
fn text(answer: &Answer, json: Option<&Value>) -> String {
    let detail = json.and_then(|json| json.get("data")).and_then(Value::as_str).filter(|text| !text.is_empty());
    detail.map_or_else(|| said(&answer.body), str::to_owned)
}
