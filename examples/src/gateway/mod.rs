//! A reverse proxy: `/{service}/…` goes to an instance of that service.
//!
//! ```text
//!   caller ─▶ Gateway ─▶ RetryNextLayer ─▶ BalanceLayer ─▶ Patient ─▶ Instances: HTTP/1.1, or HTTP/2 for gRPC ─▶ instance
//!                └─ WebSocket: both connections joined by a task of its own
//! ```

mod client;
mod forwarded;
mod forwarding;
mod hop_by_hop;
mod instances;
mod limits;
mod patient;
mod proxy;
mod refusal;
mod sent;
mod services;
mod tunnel;

pub use forwarding::Forwarding;
pub use limits::GatewayLimits;
pub use proxy::Gateway;
pub use refusal::Refusal;
pub use services::GatewayServices;
