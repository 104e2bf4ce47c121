//! Serving an axum application the whole way: bind, register, serve, and leave without a failed call (feature `axum`).
//!
//! ```text
//!   bind ─▶ accept ─▶ ready? ─▶ register ─▶ … stop signal … ─▶ deregister ─▶ wait ─▶ drain ─▶ close
//! ```

// Public API.
mod error;
mod operations;
mod serve_app;
mod serving;
mod signal;
mod traffic_count;

// Needed by the implementation.
mod accept;

pub use error::ServeError;
pub use operations::operations;
pub use serve_app::Serve;
pub use serving::Serving;
pub use signal::stop_signal;
pub use traffic_count::counted;
