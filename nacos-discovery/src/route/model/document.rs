use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::RouteRules;
use crate::route::error::{At, Problem};
use crate::route::text::{self, Node};
use crate::route::{RouteError, Router, read};

/// More services in one document are refused.
pub(crate) const MAX_SERVICES: usize = 10_000;

/// The routes of all services that have any, as they stand in a file.
///
/// ```
/// use nacos_discovery::route::RouteDocument;
///
/// let document = RouteDocument::from_yaml(
///     "
/// services:
///   order-service:                   # or group@@order-service
///     baseline: { version: v1 }      # beside instances without a version
///     routes:
///       - name: testers
///         when:
///           - header: { name: x-version, exact: v2 }      # or query, cookie, tag
///           - path: { prefix: /orders }                   # exact, any, prefix, regex, present
///           - method: { any: [GET, HEAD] }
///         to: [ { label: { version: v2 } } ]
///         miss: fail                                      # or baseline, or a label
///       - name: by-header
///         when: [ { header: { name: x-version, present: true } } ]
///         to: [ { label-from: { key: version, header: x-version } } ]
///       - name: canary
///         to:
///           - { label: { version: v2 }, percent: 10 }
///           - { baseline: true, percent: 90 }
///         sticky: { header: x-user }
/// ",
/// )?;
/// assert_eq!(document.services["order-service"].routes.len(), 3);
/// # Ok::<(), nacos_discovery::route::RouteError>(())
/// ```
///
/// Unknown keys are errors. YAML is that of version 1.2: texts that look like numbers, as `"1.10"`, need their quotes.
/// Through serde it has the same form; what is read that way is not yet checked.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct RouteDocument {
    /// By name, or by `group@@name` for services of another group than the configured one.
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

    /// Reads and checks a YAML text.
    ///
    /// # Errors
    ///
    /// The first problem, with line, column and path.
    pub fn from_yaml(text: &str) -> Result<Self, RouteError> {
        Self::read(text::yaml(text))
    }

    /// Reads and checks a JSON text.
    ///
    /// # Errors
    ///
    /// The first problem, with line, column and path.
    pub fn from_json(text: &str) -> Result<Self, RouteError> {
        Self::read(text::json(text))
    }

    /// Reads and checks a file: JSON if its name ends in `.json`, else YAML. It waits for the disk, so within an async task
    /// it is for the start of a process.
    ///
    /// # Errors
    ///
    /// The first problem, with file, line, column and path.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, RouteError> {
        let path = path.as_ref();
        Self::read(text::from_file(path)).map_err(|error| error.with_file(&path.to_string_lossy()))
    }

    fn read(tree: Result<Node, RouteError>) -> Result<Self, RouteError> {
        let tree = tree?;
        let read = read::document(&At::Root, &tree).and_then(|document| document.check().map(|()| document));
        read.map_err(|error| error.placed_by(|path| tree.find(path)))
    }

    /// The JSON Schema of documents, of draft 2020-12: for editors, and for whoever checks documents without this crate. What
    /// it accepts may still be refused for what a schema cannot say, such as percentages that are not 100 together.
    #[must_use]
    pub const fn schema() -> &'static str {
        include_str!("../../../schema/routes.schema.json")
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
