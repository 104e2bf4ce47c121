//! What the server answers: the gRPC port and the HTTP port.

pub(crate) mod grpc;
pub(crate) mod http;
