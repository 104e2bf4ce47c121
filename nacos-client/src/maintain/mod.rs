//! What operators do: look at everything, change weights, metadata and thresholds, keep namespaces. Feature `maintain`.
//!
//! ```text
//! Maintain ── asks once ──▶ which generation of the interface? ── V3: /v3/admin, 3.x
//!     │                                                      └── V1: /v1, 1.x and 2.x
//!     └── each call ──▶ one server after the other, until one answers; one connection for one call
//! ```
//!
//! Nothing is kept: no connection, no cache, no task. An instance's own client knows nothing of what is changed here. On 2.x and 3.x such a change lies over what the instance
//! registered, outlives its registrations, and is dropped about a minute after the instance has gone; on 1.x the next registration replaces it.

mod ask;
mod client;
mod error;
mod instances;
mod judge;
mod model;
mod namespaces;
mod read;
mod services;

pub use client::Maintain;
pub use error::MaintainError;
pub use model::{
    Generation, InstanceChange, NamespaceInfo, ServerState, ServiceDetail, ServiceFilter, ServiceSettings,
    ServiceSummary, Subscriber,
};

#[cfg(test)]
mod tests;
