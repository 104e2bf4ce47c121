use serde_json::{Value, json};

use super::reply::{self, Refusal};

/// The codes of the v2 and v3 envelope that this server gives, each with its fixed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApiError {
    ParameterMissing,
    ParameterInvalid,
    NotFound,
    Weight,
    InstanceNotFound,
    Instance,
    Selector,
    ServiceExists,
    ServiceMissing,
    ServiceDelete,
    NamespaceIllegal,
    NamespaceMissing,
    NamespaceExists,
    IllegalState,
    Server,
}

impl ApiError {
    fn code_and_text(self) -> (i32, &'static str) {
        match self {
            Self::ParameterMissing => (10_000, "parameter missing"),
            Self::ParameterInvalid => (20_002, "parameter validate error"),
            Self::NotFound => (20_004, "resource not found"),
            Self::Weight => (21_001, "weight error"),
            Self::InstanceNotFound => (21_003, "instance not found"),
            Self::Instance => (21_004, "instance error"),
            Self::Selector => (21_006, "selector error"),
            Self::ServiceExists => (21_007, "service already exist"),
            Self::ServiceMissing => (21_008, "service not exist"),
            Self::ServiceDelete => (21_009, "service delete failure"),
            Self::NamespaceIllegal => (22_000, "illegal namespace"),
            Self::NamespaceMissing => (22_001, "namespace not exist"),
            Self::NamespaceExists => (22_002, "namespace already exist"),
            Self::IllegalState => (23_000, "illegal state"),
            Self::Server => (30_000, "server error"),
        }
    }

    /// The envelope with this error; `detail` says what exactly.
    pub(super) fn refuse(self, status: u16, detail: &str) -> Refusal {
        self.answer(status, &json!(detail))
    }

    /// The envelope with this error and no detail.
    pub(super) fn bare(self, status: u16) -> Refusal {
        self.answer(status, &Value::Null)
    }

    fn answer(self, status: u16, data: &Value) -> Refusal {
        let (code, text) = self.code_and_text();
        Box::new(reply::envelope(status, code, text, data))
    }
}

/// A parameter whose text is not of its type. The real server answers with a status that blames itself.
pub(super) fn mistyped(name: &str, value: &str, kind: &str) -> Refusal {
    let (code, _) = ApiError::Server.code_and_text();
    let message = format!("Failed to convert value '{value}' of '{name}' to required type '{kind}'");
    Box::new(reply::envelope(500, code, &message, &Value::Null))
}
