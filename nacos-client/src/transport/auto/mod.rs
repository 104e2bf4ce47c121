//! Speaks gRPC with servers that have it and HTTP with the others.
//!
//! ```text
//!   AutoTransport ─ driver: opens and closes ─▶ GrpcTransport ┐ events   relay: numbers the epochs of both anew,
//!                   Machine: which of them     ▶ HttpTransport ┴────────▶ lets through what serves ─▶ naming
//! ```

mod driver;
mod machine;
mod relay;
mod session;
mod transport;

pub(crate) use relay::Protocols;
pub(crate) use transport::AutoTransport;

#[cfg(test)]
mod tests;
