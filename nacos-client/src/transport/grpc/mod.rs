//! The gRPC protocol of servers 2.0 and later.
//!
//! ```text
//! GrpcTransport ── start ─▶ Supervisor (one task) ── Dial ─▶ Connection (one task per attempt)
//!                            │ state: pure machine            │ HTTP/2 connection + handshake + push stream + liveness
//!                            ◀──────── Up, ResetAsked ────────┤
//!                            ◀──────── its end = Down ────────┘ ── events ─▶ EventHandler
//! ```
//!
//! One connection is one TCP stream with one HTTP/2 connection on it, polled by the connection's own task: when that task ends, everything of
//! the epoch ends with it. Nothing re-dials behind its back.

mod channel;
mod connection;
mod conversation;
mod dialect;
mod driver;
mod framing;
mod handshake;
mod liveness;
mod requests;
mod rpc_error;
mod session;
mod settings;
mod state;
mod stream;
mod traffic;
mod transport;

pub(crate) use settings::{GrpcSettings, HealthIdle, HealthTimeout, Timings};
pub(crate) use transport::GrpcTransport;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
