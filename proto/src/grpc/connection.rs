use std::collections::BTreeMap;

use super::message::{request, response};
use crate::lenient;

request!(
    /// Asks whether the server is up; needs no set-up.
    ServerCheckRequest, "internal", {}
);

response!(
    /// The server's answer, with the id it gave this connection.
    ServerCheckResponse, {
        /// Opaque; also the naming client's id on the server.
        #[serde(default, deserialize_with = "lenient::text_or_empty")]
        connection_id: String,
        /// True when a set-up with an ability table is acknowledged; absent before 2.3.
        #[serde(default, deserialize_with = "lenient::boolean")]
        support_ability_negotiation: bool,
    }
);

request!(
    /// First message of the stream: makes the connection known to the server.
    ConnectionSetupRequest, "internal", {
        /// Free text, shown to operators.
        #[serde(default, deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
        client_version: Option<String>,
        /// Namespace, for information only.
        #[serde(default, deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
        tenant: Option<String>,
        /// `source`, `module` and others. `None` stands for null, which real servers answer by ending the stream; absent is an
        /// empty map.
        #[serde(default = "no_labels", deserialize_with = "lenient::text_map", skip_serializing_if = "Option::is_none")]
        labels: Option<BTreeMap<String, String>>,
        /// The client's abilities; the presence of the table, even an empty one, asks for a `SetupAckRequest`.
        #[serde(default, deserialize_with = "lenient::bool_map", skip_serializing_if = "Option::is_none")]
        ability_table: Option<BTreeMap<String, bool>>,
    }
);

#[expect(clippy::unnecessary_wraps, reason = "the shape serde asks of a field's default")]
fn no_labels() -> Option<BTreeMap<String, String>> {
    Some(BTreeMap::new())
}

request!(
    /// The server's abilities, first message on the server's half of the stream. Nobody answers it.
    SetupAckRequest, "internal", {
        /// What the server can do; a missing key means it cannot.
        #[serde(default, deserialize_with = "lenient::bool_map", skip_serializing_if = "Option::is_none")]
        ability_table: Option<BTreeMap<String, bool>>,
    }
);

request!(
    /// Keeps the connection alive and asks whether it is still registered.
    HealthCheckRequest, "internal", {}
);

response!(
    /// The connection is registered and the server works.
    HealthCheckResponse, {}
);

request!(
    /// The server asks a silent client for a sign of life.
    ClientDetectionRequest, "internal", {
        /// Decimal counter; copied into the answer.
        #[serde(default, deserialize_with = "lenient::text_or_empty")]
        request_id: String,
    }
);

response!(
    /// The sign of life.
    ClientDetectionResponse, {}
);

request!(
    /// The server asks the client to move to another server.
    ConnectResetRequest, "internal", {
        /// Decimal counter; copied into the answer.
        #[serde(default, deserialize_with = "lenient::text_or_empty")]
        request_id: String,
        /// Address of the advised server; absent when there is no advice.
        #[serde(default, deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
        server_ip: Option<String>,
        /// Main port of the advised server, as text.
        #[serde(default, deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
        server_port: Option<String>,
        /// The connection meant; written with a target only.
        #[serde(default, deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
        connection_id: Option<String>,
    }
);

response!(
    /// The client has taken note.
    ConnectResetResponse, {}
);

response!(
    /// A failure outside of the handlers; answers any request.
    ErrorResponse, {}
);

impl ErrorResponse {
    /// The form of a failure that a handler raised: `resultCode` repeats the error code.
    pub fn raised(error_code: i32, message: impl Into<String>) -> Self {
        Self { result_code: error_code, ..Self::failure(error_code, message) }
    }
}
