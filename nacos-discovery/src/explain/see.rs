use std::collections::BTreeMap;
use std::time::Duration;

use nacos_client::InstanceKey;
use tokio::time::Instant;

use super::EjectionReport;
use super::assemble::Seen;
use crate::ServiceInstance;
use crate::pick::Member;
use crate::resolve::View;

/// The instances of a list with what their tables and this process's calls say, and the tier that a request is drawn from
/// that was sent to `tried` already.
pub(crate) fn see(view: &View, tried: &[ServiceInstance], now: Instant) -> (Vec<Seen>, Option<usize>) {
    let everyone: BTreeMap<InstanceKey, _> =
        view.everyone.iter().map(|endpoint| (endpoint.instance().key(), endpoint)).collect();
    let mut seen: Vec<Seen> = view
        .verdicts
        .iter()
        .map(|(instance, verdict)| {
            let endpoint = everyone.get(&instance.key());
            Seen {
                instance: instance.clone(),
                verdict: verdict.clone(),
                target: endpoint
                    .map(|endpoint| format!("{}://{}", endpoint.target().scheme, endpoint.target().authority)),
                weight: None,
                in_flight: endpoint.map_or(0, |endpoint| endpoint.in_flight()),
                latency_ms: endpoint.and_then(|endpoint| endpoint.latency()).map(milliseconds),
                tried: tried.contains(instance),
                ejection: endpoint.and_then(|endpoint| EjectionReport::new(endpoint.ejection(), now)),
            }
        })
        .collect();
    let takes = seen.iter().filter(|one| one.ejection.is_none() && !one.tried);
    let serving = takes.filter_map(|one| one.verdict.tier()).min().filter(|tier| *tier < view.tiers.len());
    let drawn = keyed(serving.and_then(|tier| view.tiers.get(tier)));
    for one in &mut seen {
        one.weight = drawn.get(&one.instance.key()).map(|member| member.weight());
    }
    (seen, serving)
}

fn keyed(tier: Option<&Vec<Member>>) -> BTreeMap<InstanceKey, &Member> {
    tier.into_iter().flatten().map(|member| (member.endpoint().instance().key(), member)).collect()
}

fn milliseconds(latency: Duration) -> f64 {
    latency.as_secs_f64() * 1000.0
}
