use serde::Serialize;

/// What rules would do to a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct DryRunRequest {
    /// Method and path.
    pub request: String,
    /// The rule that applies. `None`: none does, and it goes to the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Where to: several where it is drawn, one where it is not, or where it is the same for all requests with its value.
    pub to: Vec<DryRunDestination>,
    /// What counts if nobody there takes the request: `baseline`, `fail`, or a label.
    pub miss: String,
    /// How many that would find.
    pub miss_instances: usize,
}

/// Where a request would go.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct DryRunDestination {
    /// `baseline`, or a label, such as `version=v2`. Where the request names no label: `version=?`.
    pub destination: String,
    /// With which probability, in percent.
    pub percent: f64,
    /// How many instances it would find there.
    pub instances: usize,
}

/// How many requests a rule would apply to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct DryRunRule {
    /// Its name.
    pub rule: String,
    /// So many.
    pub requests: usize,
}

impl DryRunRequest {
    /// Whether it would find nobody, be it only by an unlucky draw.
    #[must_use]
    pub fn may_fail(&self) -> bool {
        self.miss_instances == 0 && self.to.iter().any(|to| to.percent > 0.0 && to.instances == 0)
    }
}
