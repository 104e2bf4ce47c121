//! How requests are spread, by default and per service.

mod balance_settings;
mod completion;
mod service_settings;

pub use balance_settings::BalanceSettings;
pub use completion::Completion;
pub use service_settings::ServiceSettings;
