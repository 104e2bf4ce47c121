//! Spring-Cloud-style service discovery on top of [`nacos_client`].
//!
//! Begin with [`DiscoveryConfig`], the `spring.cloud.nacos.discovery.*` settings, or with [`DiscoveryClient`], which tells who
//! provides a service.

// Public API.
mod config;
mod discovery;

// Needed by the implementation.
mod address;
mod own_instance;

pub use address::AddressChoiceError;
pub use config::{
    AddressRules, ClientSettings, DiscoveryConfig, DiscoveryConfigBuilder, DiscoveryConfigError, HeartBeat, IpType,
    Listen, Management, Pattern, Place, ShutdownMode, ShutdownSettings,
};
pub use discovery::{
    Answer, CompositeDiscovery, DiscoveryClient, DiscoveryError, InMemoryDiscovery, InstanceChanges, InstanceList,
    InstancesChange, MetadataView, NacosDiscovery, ServiceChanges, ServiceInstance, ServicesChange,
};
