//! How discovery is doing, for people and for probes.

mod health;
mod report;
mod routes;
mod traffic;

pub use health::Health;
pub use report::{ConnectionReport, InstanceReport, LoginReport, RegistrationReport, StatusReport, SubscriptionReport};
pub use routes::{RoutedServiceReport, RoutesReport};
pub use traffic::TrafficReport;
