//! From the tree of a document to rules. What is wrong is told with its path; whoever has the tree finds the place.

mod block;
mod conditions;
mod deserialize;
mod destinations;
mod rules;
mod values;

pub(super) use rules::{document, route_rules, rule};
