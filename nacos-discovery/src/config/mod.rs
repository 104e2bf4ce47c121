//! The settings of a Spring-style application: `spring.cloud.nacos.discovery.*` and the few keys around it.
//!
//! One struct, [`DiscoveryConfig`], validated once, when it is built.

mod address_rules;
mod discovery_config;
mod heart_beat;
mod listen;
mod management;
mod shutdown;

pub use address_rules::{AddressRules, IpType};
pub use discovery_config::DiscoveryConfig;
pub use heart_beat::HeartBeat;
pub use listen::Listen;
pub use management::Management;
pub use shutdown::{ShutdownMode, ShutdownSettings};
