use std::collections::BTreeMap;
use std::time::Duration;

use nacos_client::InstanceKey;
use tokio::time::Instant;

use super::EjectionReport;
use super::assemble::Seen;
use crate::pick::Member;
use crate::resolve::{Side, View};
use crate::{ServiceInstance, Verdict};

/// The instances of a list with what their tables and this process's calls say, and the tier that a request is drawn from
/// that was sent to `tried` already.
pub(crate) fn see(view: &View, tried: &[ServiceInstance], now: Instant) -> (Vec<Seen>, Option<usize>) {
    let (mut seen, serving) = look(view, view.verdicts.iter().map(|(_, verdict)| verdict), &view.tiers, tried, now);
    let others: BTreeMap<_, _> = view.others.iter().flat_map(|tier| keyed(Some(tier))).collect();
    for one in seen.iter_mut().filter(|one| one.weight.is_none()) {
        one.weight = others.get(&one.instance.key()).map(|member| member.weight());
    }
    (seen, serving)
}

/// The same of one label.
pub(super) fn see_side(
    view: &View,
    side: &Side,
    tried: &[ServiceInstance],
    now: Instant,
) -> (Vec<Seen>, Option<usize>) {
    look(view, side.verdicts.iter(), &side.tiers, tried, now)
}

fn look<'a>(
    view: &View,
    verdicts: impl Iterator<Item = &'a Verdict>,
    tiers: &[Vec<Member>],
    tried: &[ServiceInstance],
    now: Instant,
) -> (Vec<Seen>, Option<usize>) {
    let everyone: BTreeMap<InstanceKey, _> =
        view.everyone.iter().map(|endpoint| (endpoint.instance().key(), endpoint)).collect();
    let mut seen: Vec<Seen> = view
        .verdicts
        .iter()
        .zip(verdicts)
        .map(|((instance, _), verdict)| {
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
    let serving = takes.filter_map(|one| one.verdict.tier()).min().filter(|tier| *tier < tiers.len());
    let drawn = keyed(serving.and_then(|tier| tiers.get(tier)));
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
