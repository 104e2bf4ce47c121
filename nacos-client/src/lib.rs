//! Nacos client SDK: register services, discover others, be told of changes, pick one to call.
//!
//! Begin with [`NamingService`], whose page shows all of it in an example; [`ServiceHandle`] is what most calls are made on.
//!
//! # Layout
//!
//! ```text
//!   application
//!      │  NamingService, ServiceHandle, Registration, Subscription
//!   naming/      what the process wants and what it knows; nothing of the wire
//!      │  Call, Reply, Event
//!   transport/   one connection after the other to one server after the other
//!      │
//!   servers/     which servers there are
//! ```
//!
//! * [`ClientConfig`] is the one place of settings, `error` of failures, `model` of names, instances and lists.
//! * `naming` keeps one cache entry per service (an immutable list that readers share), and the desired state of this
//!   process, which it makes every new connection agree with.
//! * `maintain`, a feature, holds what operators do: it asks over HTTP, and keeps no connection.
//! * `auth` logs in where servers let only known users in, and keeps a token that calls carry.
//! * `transport` hides the protocol behind one trait.

// Public API.
mod auth;
mod config;
mod error;
#[cfg(feature = "maintain")]
pub mod maintain;
mod model;
mod naming;

// Needed by the implementation.
mod exchange;
mod log_limit;
mod servers;
mod transport;
mod wake;

pub use auth::{Credentials, LoginError, LoginStatus};
pub use config::{
    ClientConfig, ClientConfigBuilder, EmptyPolicy, Protocol, PushSenders, Timeouts, UdpPush, Validation,
};
pub use error::{
    ConfigError, ConfirmError, InvalidArgument, PickError, QueryError, RegisterError, ServerRefusal, StartError,
};
pub use model::{
    AddressError, ChangeCause, DEFAULT_CLUSTER, DEFAULT_GROUP, GroupName, Held, Instance, InstanceAddr, InstanceKey,
    IntoServiceKey, MAX_WEIGHT, Modified, Namespace, PUBLIC_NAMESPACE, Select, ServiceChange, ServiceKey,
    ServiceSnapshot, SnapshotSource, Weight,
};
pub use naming::alias::AliasTable;
pub use naming::select::PickRng;
pub use naming::{
    ClientStats, ConnectionStatus, Listener, NamingService, NamingServiceBuilder, Registration, RegistrationStatus,
    ServiceHandle, ServicePage, ServiceWatch, ShutdownReport, StatusWatch, SubscribedService, Subscription,
};
