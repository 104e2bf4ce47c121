//! Spring-Cloud-style service discovery on top of [`nacos_client`].
//!
//! Begin with [`DiscoveryConfig`], the `spring.cloud.nacos.discovery.*` settings.

// Public API.
mod config;

pub use config::{
    AddressRules, DiscoveryConfig, HeartBeat, IpType, Listen, Management, ShutdownMode, ShutdownSettings,
};
