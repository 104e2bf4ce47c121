//! Who provides a service: one trait, whoever answers.
//!
//! ```text
//!   DiscoveryClient ── NacosDiscovery     a registry, read from the list that its pushes keep up to date
//!                  ├── InMemoryDiscovery  for tests, and for addresses that are known beforehand
//!                  └── CompositeDiscovery several of them, in order
//! ```
//!
//! Every list is immutable and sorted by address and cluster; a watch hands out the newest one with what it differs by, so a
//! slow reader misses states, but never the last one.

// Public API.
mod client;
mod composite;
mod error;
mod instance_list;
mod instances_change;
mod memory;
mod metadata_view;
mod nacos;
mod service_instance;
mod services_change;

// Needed by the implementation.
mod poll_services;

pub use client::{Answer, DiscoveryClient, InstanceChanges, ServiceChanges};
pub use composite::CompositeDiscovery;
pub use error::DiscoveryError;
pub use instance_list::InstanceList;
pub use instances_change::InstancesChange;
pub use memory::InMemoryDiscovery;
pub use metadata_view::MetadataView;
pub use nacos::NacosDiscovery;
pub use service_instance::ServiceInstance;
pub use services_change::ServicesChange;
