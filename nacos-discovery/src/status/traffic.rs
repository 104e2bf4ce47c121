use std::collections::BTreeMap;

use nacos_client::InstanceKey;
use serde::Serialize;
use tokio::time::Instant;

use crate::explain::see;
use crate::{EjectionReport, Endpoints};

/// What this process makes of an instance, by its tables and its own calls.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct TrafficReport {
    /// The weight in the table that requests are drawn from, if it is in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effective_weight: Option<f64>,
    /// Calls that have not ended.
    pub in_flight: u32,
    /// How long a call takes, as estimated, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    /// That it is left out because calls failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ejection: Option<EjectionReport>,
}

/// Of every instance that requests could go to.
pub(super) fn traffic(endpoints: &Endpoints) -> BTreeMap<InstanceKey, TrafficReport> {
    let Some(view) = endpoints.view(None) else { return BTreeMap::new() };
    let (seen, _) = see(&view, &[], Instant::now());
    let callable = seen.into_iter().filter(|one| one.target.is_some());
    let report = callable.map(|one| {
        let report = TrafficReport {
            effective_weight: one.weight,
            in_flight: one.in_flight,
            latency_ms: one.latency_ms,
            ejection: one.ejection,
        };
        (one.instance.key(), report)
    });
    report.collect()
}
