use serde::de::{Deserialize, Deserializer, Error};

use crate::route::error::At;
use crate::route::text::Node;
use crate::route::{RouteDocument, RouteRules, Rule};

impl<'de> Deserialize<'de> for RouteDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        super::document(&At::Root, &Node::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for RouteRules {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        super::route_rules(&At::Root, &Node::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        super::rule(&At::Root, &Node::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
