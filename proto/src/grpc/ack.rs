use serde::Deserialize;

use crate::error::DecodeError;
use crate::lenient;
use crate::{Payload, code};

/// Any response on the stream, reduced to what acknowledges a request: the type of an acknowledgement is not compared.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ack {
    /// The id of the request it answers; without one it answers nothing.
    #[serde(default, deserialize_with = "lenient::text")]
    pub request_id: Option<String>,
    /// 200 is success; absent means 200.
    #[serde(default = "super::message::ok", deserialize_with = "lenient::integer")]
    pub result_code: i32,
    /// The cause of a failure.
    #[serde(default, deserialize_with = "lenient::integer")]
    pub error_code: i32,
    /// Text for humans.
    #[serde(default, deserialize_with = "lenient::text")]
    pub message: Option<String>,
}

impl Ack {
    /// Reads any response class a real server knows; `None` for other messages.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] when the payload names a response and its body is none.
    pub fn from_payload(payload: &Payload) -> Option<Result<Self, DecodeError>> {
        is_response(payload.kind()).then(|| payload.decode_json::<AckMessage>().map(|message| message.0))
    }

    /// Decides by `resultCode` alone.
    pub fn is_success(&self) -> bool {
        self.result_code == code::OK
    }
}

/// Whether a message type is a response that real peers know.
pub fn is_response(kind: &str) -> bool {
    RESPONSES.binary_search(&kind).is_ok()
}

/// Sorted.
const RESPONSES: &[&str] = &[
    "BatchInstanceResponse",
    "ClientConfigMetricResponse",
    "ClientDetectionResponse",
    "ConfigChangeBatchListenResponse",
    "ConfigChangeClusterSyncResponse",
    "ConfigChangeNotifyResponse",
    "ConfigFuzzyWatchChangeNotifyResponse",
    "ConfigFuzzyWatchResponse",
    "ConfigFuzzyWatchSyncResponse",
    "ConfigPublishResponse",
    "ConfigQueryResponse",
    "ConfigRemoveResponse",
    "ConnectResetResponse",
    "DistroDataResponse",
    "ErrorResponse",
    "HealthCheckResponse",
    "InstanceResponse",
    "LockOperationResponse",
    "MemberReportResponse",
    "NamingFuzzyWatchChangeNotifyResponse",
    "NamingFuzzyWatchResponse",
    "NamingFuzzyWatchSyncResponse",
    "NotifySubscriberResponse",
    "QueryServiceResponse",
    "ServerCheckResponse",
    "ServerLoaderInfoResponse",
    "ServerReloadResponse",
    "ServiceListResponse",
    "SetupAckResponse",
    "SubscribeServiceResponse",
];

/// Gives [`Ack`] the readers of a message without making it one that could be sent.
#[derive(Deserialize)]
struct AckMessage(Ack);

impl serde::Serialize for AckMessage {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl super::Message for AckMessage {
    const TYPE: &'static str = "Response";

    fn to_json(&self) -> bytes::Bytes {
        bytes::Bytes::new()
    }
}
