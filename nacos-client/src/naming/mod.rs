//! Registration and discovery: what the application sees of a registry.
//!
//! ```text
//!   NamingService ─ ServiceHandle ─ Registration          Subscription, ServiceWatch, Listener
//!        │               │               │                      ▲ newest snapshot, woken by changes
//!        ▼               ▼               ▼                      │
//!      Client          HostReactor     Registrations        Entry (ServiceList: which list is newer, Guard: which
//!   (life, tasks)     (the cache)     (desired state)              removals are believed, SubSlot: the subscription)
//!                          │               │
//!                          └──── Worker ───┘  the one task that sends calls and feeds the answers back
//! ```

// Public API.
mod builder;
mod handle;
mod handler;
mod java_names;
mod registration;
pub(crate) mod select;
mod service;
mod stats;
mod status;
mod subscription;
mod wishes;

// Needed by the implementation.
pub(crate) mod alias;
mod ask;
mod backoff;
mod client;
mod core;
mod entry;
mod hold;
mod host_reactor;
mod link;
mod persistent;
mod plan;
mod protocols;
mod redo;
mod registrations;
mod service_list;
mod slot;
mod trouble;
pub(crate) mod validate;
mod wait;
mod work;
mod worker;

#[cfg(test)]
pub(crate) mod mock;
#[cfg(test)]
mod tests;

pub use builder::NamingServiceBuilder;
pub use client::ShutdownReport;
pub use handle::ServiceHandle;
pub use handler::Listener;
pub use registration::Registration;
pub use service::{NamingService, ServicePage, SubscribedService};
pub use stats::ClientStats;
pub use status::{ConnectionStatus, StatusWatch};
pub use subscription::{ServiceWatch, Subscription};
pub use wishes::RegistrationStatus;
