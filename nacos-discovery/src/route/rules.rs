use serde::{Deserialize, Serialize};

use super::{Condition, Label, Subject};

/// How requests to one service are routed: the first rule whose conditions all hold says where to. A request for which none
/// does goes to the baseline.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RouteRules {
    /// The label of the baseline, beside instances that have none of the metadata keys that the rules name. `None`: only
    /// those are it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Label>,
    /// From top to bottom.
    #[serde(default)]
    pub routes: Vec<Rule>,
}

/// Where some requests go.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Rule {
    /// Its name, in reports, errors and metrics. Another one for each rule of a service.
    pub name: String,
    /// What must hold, all of it; nothing: it applies to every request.
    #[serde(default)]
    pub when: Vec<Condition>,
    /// Where to. Their shares are 100 percent together.
    pub to: Vec<WeightedDestination>,
    /// What requests belong together by, where there are several destinations: those with the same value go to the same
    /// one. `None`, or a request without it: each request is drawn by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sticky: Option<Subject>,
    /// What counts if no instance of the destination takes the request.
    #[serde(default)]
    pub miss: Miss,
}

/// A destination and its share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WeightedDestination {
    /// Where to.
    pub destination: Destination,
    /// In percent, in steps of 0.01.
    pub percent: f64,
}

/// Where requests go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum Destination {
    /// To instances that belong to no label of the rules.
    Baseline,
    /// To instances with a label.
    Label(Label),
    /// To instances whose metadata entry has the value that the request names.
    LabelFrom {
        /// The metadata key.
        key: String,
        /// What the value is taken from.
        subject: Subject,
    },
}

/// What counts if no instance of a destination takes the request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum Miss {
    /// It goes to the baseline.
    #[default]
    Baseline,
    /// It fails.
    Fail,
    /// It goes to instances with this label.
    Label(Label),
}
