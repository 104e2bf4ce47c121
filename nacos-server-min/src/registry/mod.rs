//! What is registered where: services, the records clients publish into them, and who subscribed to what.
//!
//! ```text
//!   Client (a connection, or an internal one per ip:port)
//!     │ publishes one Record per service          │ subscribes, with a cluster filter
//!     ▼                                           ▼
//!   Service { records, subscribers, revision } ── View: one row per (ip, port, cluster), the newest client's
//! ```
//!
//! Synchronous and free of any runtime. A write changes the record and raises the revision under the service's own mutex; the
//! sorted list is built by the first reader of a revision. What operators say about a service hangs on it in one box, which
//! most services do without, and is laid over the records when the list is built.
//!
//! Locks are taken in the order client → service → group index or set of overridden services, and no method calls out while
//! holding one except to [`Propagation`], whose implementations only note what they are told.

mod admin;
mod beat_times;
mod client;
mod details;
mod groups;
mod instance;
mod internal;
mod json;
mod names;
mod overrides;
mod page;
mod service;
mod store;
mod view;

pub(crate) use admin::AdminError;
pub(crate) use beat_times::BeatTimes;
pub(crate) use client::{Client, ServiceRef};
pub(crate) use details::{ClusterMetadata, HealthChecker, Selector, ServiceMetadata};
pub(crate) use instance::{DEFAULT_CLUSTER, Host, Instance, InstanceId};
pub(crate) use json::{InstanceJson, ListJson, NameForm};
pub(crate) use overrides::Override;
pub(crate) use page::{Page, PageError};
pub(crate) use service::{KeyRef, Kind, Published, Service, Subscriber};
pub(crate) use store::{Propagation, Registry, RegistrySettings, Sink, WriteError};
pub(crate) use view::{View, share};

#[cfg(test)]
mod admin_test;
#[cfg(test)]
mod model;
#[cfg(test)]
mod model_test;
