use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::RouteRules;
use crate::route::error::{At, Problem};
use crate::route::{RouteError, Router};

/// More services in one document are refused.
pub(crate) const MAX_SERVICES: usize = 10_000;

/// The routes of all services that have any, as they stand in a file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RouteDocument {
    /// By name, or by `group@@name` for services of another group than the configured one.
    #[serde(default)]
    pub services: BTreeMap<String, RouteRules>,
}

impl RouteDocument {
    /// Of no service.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With these rules for a service, instead of any it had.
    #[must_use]
    pub fn with_service(mut self, service: impl Into<String>, rules: RouteRules) -> Self {
        self.services.insert(service.into(), rules);
        self
    }

    /// Whether the rules can be used.
    ///
    /// # Errors
    ///
    /// The first problem from top to bottom, with its path: `services.order-service.routes[2].to[0].percent`.
    pub fn check(&self) -> Result<(), RouteError> {
        self.routers().map(drop)
    }

    /// The rules made ready, by the names in the document.
    pub(crate) fn routers(&self) -> Result<Vec<(&str, Router)>, RouteError> {
        let at = At::Root;
        let at = at.key("services");
        if self.services.len() > MAX_SERVICES {
            return Err(at.fails(Problem::TooMany { what: "services", limit: MAX_SERVICES }));
        }
        let routers = self.services.iter().map(|(service, rules)| {
            let at = at.key(service);
            let name = service.split_once("@@").map_or(Some(service.as_str()), |(group, name)| {
                Some(name).filter(|name| !group.is_empty() && !name.contains("@@"))
            });
            if name.is_none_or(str::is_empty) {
                return Err(at.fails(Problem::ServiceName));
            }
            Ok((service.as_str(), Router::at(&at, rules)?))
        });
        routers.collect()
    }
}
