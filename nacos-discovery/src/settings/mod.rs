//! How requests are spread, by default and per service.

mod balance_settings;
mod completion;
mod eject_settings;
mod failure_rate;
mod node_settings;
mod service_settings;
mod slow_start;

pub use balance_settings::BalanceSettings;
pub use completion::Completion;
pub use eject_settings::EjectSettings;
pub use failure_rate::FailureRate;
use node_settings::NodeSettings;
pub use service_settings::ServiceSettings;
pub use slow_start::SlowStart;
