//! The JSON messages of connection and naming.
//!
//! A *request* goes either way and is answered by a *response*. Every request is written with an empty `headers` object
//! and its module's name, as the reference implementation does; real headers travel in [`Metadata`](crate::Metadata).

mod ack;
mod connection;
mod instance;
mod message;
mod metadata;
mod naming;
mod service_info;

pub use ack::{Ack, is_response};
pub use connection::{
    ClientDetectionRequest, ClientDetectionResponse, ConnectResetRequest, ConnectResetResponse, ConnectionSetupRequest,
    ErrorResponse, HealthCheckRequest, HealthCheckResponse, ServerCheckRequest, ServerCheckResponse, SetupAckRequest,
};
pub use instance::Instance;
pub use message::{Message, Response};
pub use metadata::MetadataMap;
pub use naming::{BATCH_REGISTER, DEREGISTER, REGISTER};
pub use naming::{
    BatchInstanceRequest, BatchInstanceResponse, InstanceRequest, InstanceResponse, NotifySubscriberRequest,
    NotifySubscriberResponse, PersistentInstanceRequest, QueryServiceResponse, ServiceListRequest, ServiceListResponse,
    ServiceQueryRequest, SubscribeServiceRequest, SubscribeServiceResponse,
};
pub use service_info::ServiceInfo;
