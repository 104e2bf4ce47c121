use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::RouteRules;

/// The routes of all services that have any, as they stand in a file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RouteDocument {
    /// By name, or by `group@@name` for services of another group than the configured one.
    #[serde(default)]
    pub services: BTreeMap<String, RouteRules>,
}
