//! Reads a message by the name of its type and writes it again.

use bytes::Bytes;
use nacos_proto::grpc::{
    BatchInstanceRequest, BatchInstanceResponse, ClientDetectionRequest, ClientDetectionResponse, ConnectResetRequest,
    ConnectResetResponse, ConnectionSetupRequest, ErrorResponse, HealthCheckRequest, HealthCheckResponse,
    InstanceRequest, InstanceResponse, Message, NotifySubscriberRequest, NotifySubscriberResponse,
    PersistentInstanceRequest, QueryServiceResponse, ServerCheckRequest, ServerCheckResponse, ServiceListRequest,
    ServiceListResponse, ServiceQueryRequest, SetupAckRequest, SubscribeServiceRequest, SubscribeServiceResponse,
};
use nacos_proto::{DecodeError, Payload};

macro_rules! messages {
    ($($message:ty),* $(,)?) => {
        /// The types of all messages of connection and naming.
        pub(crate) const TYPES: &[&str] = &[$(<$message as Message>::TYPE),*];

        /// Reads the payload as the type it names and writes it again; `None` for a type that is none of [`TYPES`].
        pub(crate) fn recode(payload: &Payload) -> Option<Result<String, DecodeError>> {
            match payload.kind() {
                $(<$message as Message>::TYPE => Some(recode_as::<$message>(payload)),)*
                _ => None,
            }
        }
    };
}

messages!(
    BatchInstanceRequest,
    BatchInstanceResponse,
    ClientDetectionRequest,
    ClientDetectionResponse,
    ConnectResetRequest,
    ConnectResetResponse,
    ConnectionSetupRequest,
    ErrorResponse,
    HealthCheckRequest,
    HealthCheckResponse,
    InstanceRequest,
    InstanceResponse,
    NotifySubscriberRequest,
    NotifySubscriberResponse,
    PersistentInstanceRequest,
    QueryServiceResponse,
    ServerCheckRequest,
    ServerCheckResponse,
    ServiceListRequest,
    ServiceListResponse,
    ServiceQueryRequest,
    SetupAckRequest,
    SubscribeServiceRequest,
    SubscribeServiceResponse,
);

fn recode_as<M: Message>(payload: &Payload) -> Result<String, DecodeError> {
    // The rules for requests differ from those for other messages only where a request is ill.
    let message: M = payload.decode_request()?;
    Ok(String::from_utf8(message.to_json().to_vec()).expect("JSON is UTF-8"))
}

pub(crate) fn payload(kind: &str, body: &str) -> Payload {
    Payload::new(kind, Bytes::copy_from_slice(body.as_bytes()))
}
