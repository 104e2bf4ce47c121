//! Domain types: what a service, an instance and a list of instances are, free of any protocol.

mod address;
mod change;
mod instance;
mod key;
mod namespace;
mod selector;
mod snapshot;
mod weight;
mod wire;

pub use address::{AddressError, InstanceAddr};
pub(crate) use change::Difference;
pub use change::{ChangeCause, Modified, ServiceChange};
pub use instance::{DEFAULT_CLUSTER, Instance, InstanceKey};
pub(crate) use key::KeyRef;
pub use key::{DEFAULT_GROUP, GroupName, IntoServiceKey, ServiceKey};
pub use namespace::{Namespace, PUBLIC_NAMESPACE};
pub use selector::Select;
pub use snapshot::{Held, ServiceSnapshot, SnapshotSource};
pub(crate) use snapshot::{HostList, SnapshotFlags};
pub use weight::{MAX_WEIGHT, Weight};
