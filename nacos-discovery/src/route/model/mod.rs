//! Rules as data.

mod condition;
mod destination;
mod document;
mod label;
mod miss;
mod route_rules;
mod rule;
mod subject;
mod test;
mod weighted_destination;

pub use condition::Condition;
pub use destination::Destination;
pub use document::RouteDocument;
pub use label::Label;
pub use miss::Miss;
pub use route_rules::RouteRules;
pub use rule::Rule;
pub use subject::Subject;
pub use test::Test;
pub use weighted_destination::WeightedDestination;
