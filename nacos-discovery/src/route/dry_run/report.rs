use std::collections::HashMap;

use serde::Serialize;

use super::outcome::{DryRunRequest, DryRunRule};
use super::plan::Plan;
use crate::ServiceInstance;
use crate::route::error::At;
use crate::route::{RecordedRequest, RouteDocument, RouteError, RouteRules, Router};

/// What the rules of a service would do to known requests. Shown as a table of them.
///
/// It looks at metadata, health, weight and whether instances are enabled; who is preferred among those of a label is the
/// caller's matter.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct DryRun {
    /// The service, as it was asked for.
    pub service: String,
    /// How many of its instances could take requests.
    pub instances: usize,
    /// In their order.
    pub requests: Vec<DryRunRequest>,
    /// The rules from top to bottom, those that no request is for as well.
    pub rules: Vec<DryRunRule>,
    /// How many requests no rule is for.
    pub without_rule: usize,
}

impl DryRun {
    /// How many requests would find nobody, be it only by an unlucky draw.
    #[must_use]
    pub fn may_fail(&self) -> usize {
        self.requests.iter().filter(|request| request.may_fail()).count()
    }
}

impl RouteDocument {
    /// What the rules of a service would do to these requests with these instances. A service without rules has the baseline
    /// only. Nothing is sent or changed.
    ///
    /// # Errors
    ///
    /// If the rules of the service cannot be used.
    pub fn dry_run<'a>(
        &self,
        service: &str,
        requests: impl IntoIterator<Item = &'a RecordedRequest>,
        instances: &[ServiceInstance],
    ) -> Result<DryRun, RouteError> {
        let none = RouteRules::new();
        let rules = self.services.get(service).unwrap_or(&none);
        let at = At::Root;
        let router = Router::at(&at.key("services").key(service), rules)?;
        let plan = Plan::new(&router, instances);
        let requests: Vec<_> = requests.into_iter().map(|request| plan.request(request)).collect();
        let mut counts: HashMap<Option<&str>, usize> = HashMap::new();
        for request in &requests {
            *counts.entry(request.rule.as_deref()).or_default() += 1;
        }
        let count = |rule: Option<&str>| counts.get(&rule).copied().unwrap_or_default();
        Ok(DryRun {
            service: service.to_owned(),
            instances: plan.usable(),
            rules: rules
                .routes
                .iter()
                .map(|rule| DryRunRule { requests: count(Some(&rule.name)), rule: rule.name.clone() })
                .collect(),
            without_rule: count(None),
            requests,
        })
    }
}
