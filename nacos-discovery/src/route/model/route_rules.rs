use serde::Serialize;

use super::{Label, Rule};

/// How requests to one service are routed: the first rule whose conditions all hold says where to. A request for which none
/// does goes to the baseline, and to nobody else: a canary must not get requests because it is registered.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub struct RouteRules {
    /// The label of the baseline, beside instances that have none of the metadata keys that the rules name. `None`: only
    /// those are it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Label>,
    /// From top to bottom.
    pub routes: Vec<Rule>,
}

impl RouteRules {
    /// None: everything goes to the baseline, and everybody is of it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With a label of the baseline.
    #[must_use]
    pub fn with_baseline(mut self, label: Label) -> Self {
        self.baseline = Some(label);
        self
    }

    /// With another rule below the others.
    #[must_use]
    pub fn with_rule(mut self, rule: Rule) -> Self {
        self.routes.push(rule);
        self
    }
}
