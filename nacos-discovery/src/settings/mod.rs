//! How requests are spread, by default and per service.

mod address_family;
mod balance_settings;
mod completion;
mod downgrade;
mod eject_settings;
mod failure_rate;
mod forwarded_headers;
mod hash_on;
mod host_header;
mod node_settings;
mod ports;
mod request_rules;
mod selection;
mod service_settings;
mod slow_start;
mod subset;
mod upkeep;

pub use address_family::AddressFamily;
pub use balance_settings::BalanceSettings;
pub use completion::Completion;
pub use downgrade::Downgrade;
pub use eject_settings::EjectSettings;
pub use failure_rate::FailureRate;
pub use forwarded_headers::ForwardedHeaders;
pub use hash_on::HashOn;
pub use host_header::HostHeader;
use node_settings::NodeSettings;
pub use ports::Ports;
pub(crate) use selection::Selection;
pub use service_settings::ServiceSettings;
pub use slow_start::SlowStart;
pub use subset::Subset;
pub(crate) use upkeep::Upkeep;
