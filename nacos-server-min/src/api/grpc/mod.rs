//! The gRPC port, without a framework in between: HTTP/2 requests in, framed payloads out.
//!
//! ```text
//!   GrpcService ── /Request/request ─────────▶ unary ── dispatch ── naming handlers ── registry
//!        │                                                             one answer, mostly static bytes
//!        └─────── /BiRequestStream/… ────────▶ stream: a reader task for what the client says,
//!                                              and a body that takes from the connection's outbox
//! ```

mod answer;
mod body;
mod dispatch;
mod instances;
mod lists;
mod message;
mod params;
mod service;
mod status;
mod stream;

pub(crate) use message::Budget;
pub(crate) use service::GrpcService;
pub(crate) use status::Status;
