//! The settings of a Spring-style application: `spring.cloud.nacos.discovery.*` and the few keys around it.
//!
//! ```text
//!   file, text ─▶ source/ ─▶ flat list of dotted names, with places ─┐
//!   environment ────────────────────────────────────────────────────┼▶ read/ (placeholders, kinds) ─▶ bind ─▶ DiscoveryConfig
//!   code ───────────────────────────────────────────────────────────┘
//! ```
//!
//! `bind` alone says which keys there are: what it asks for is known, anything else below the prefix is refused.

mod address_rules;
mod bind;
mod bind_load_balancer;
mod builder;
mod check;
mod client_settings;
mod discovery_config;
mod error;
mod heart_beat;
mod listen;
mod load_balancer;
mod management;
mod place;
mod read;
mod shutdown;
mod source;
#[cfg(test)]
mod tests;

pub use address_rules::{AddressRules, IpType, Pattern};
pub use builder::DiscoveryConfigBuilder;
pub use client_settings::ClientSettings;
pub use discovery_config::DiscoveryConfig;
pub use error::DiscoveryConfigError;
pub use heart_beat::HeartBeat;
pub use listen::Listen;
pub use management::Management;
pub use place::Place;
pub use shutdown::{ShutdownMode, ShutdownSettings};
