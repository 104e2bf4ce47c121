use super::reason::{Surroundings, reason};
use super::{EjectionReport, ExplainedInstance, Standing, Viewpoint};
use crate::{ServiceInstance, Verdict};

/// An instance as the tables have it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) instance: ServiceInstance,
    pub(crate) verdict: Verdict,
    pub(crate) target: Option<String>,
    /// In the tier that is drawn from, if it is in it.
    pub(crate) weight: Option<f64>,
    pub(crate) in_flight: u32,
    pub(crate) latency_ms: Option<f64>,
    pub(crate) ejection: Option<EjectionReport>,
    /// Whether the request was there already.
    pub(crate) tried: bool,
}

impl Seen {
    /// Whether it gets requests while those of this tier do.
    pub(super) fn standing(&self, serving: Option<usize>) -> Standing {
        match (self.verdict.tier(), serving) {
            (None, _) => Standing::LeftOut,
            (Some(_), _) if self.ejection.is_some() => Standing::Ejected,
            (Some(_), _) if self.tried => Standing::Tried,
            (Some(_), None) => Standing::LeftOut,
            // Every tier has the ones before it.
            (Some(first), Some(serving)) if first <= serving => Standing::Serving,
            (Some(_), Some(_)) => Standing::InReserve,
        }
    }
}

/// Whether each instance gets requests, how many, and why not. `serving` is the tier that is drawn from.
pub(super) fn instances(seen: Vec<Seen>, serving: Option<usize>, viewpoint: &Viewpoint) -> Vec<ExplainedInstance> {
    let standings: Vec<Standing> = seen.iter().map(|one| one.standing(serving)).collect();
    let serves = |(one, standing): &(&Seen, &Standing)| {
        **standing == Standing::Serving && viewpoint.cluster.as_deref() == Some(one.instance.cluster())
    };
    let own_cluster_serves = seen.iter().zip(&standings).any(|pair| serves(&pair));
    let total: f64 = seen
        .iter()
        .zip(&standings)
        .filter(|(_, standing)| **standing == Standing::Serving)
        .filter_map(|(one, _)| one.weight)
        .sum();
    let explained = |(one, standing): (Seen, Standing)| {
        let around = Surroundings { viewpoint, own_cluster_serves };
        let ejected = one.ejection.as_ref().filter(|_| standing == Standing::Ejected).map(ToString::to_string);
        let reason = ejected.or_else(|| reason(&one.verdict, standing, around));
        let share = match (standing, one.weight) {
            (Standing::Serving, Some(weight)) if total > 0.0 => weight / total * 100.0,
            _ => 0.0,
        };
        let metadata = |key: &str| one.instance.registered_metadata().get(key).cloned();
        ExplainedInstance {
            address: one.instance.to_string(),
            target: one.target,
            cluster: one.instance.cluster().to_owned(),
            zone: metadata("zone"),
            version: metadata("version"),
            weight: one.instance.weight(),
            effective_weight: one.weight,
            share,
            standing,
            reason,
            in_flight: one.in_flight,
            latency_ms: one.latency_ms,
            ejection: one.ejection,
        }
    };
    seen.into_iter().zip(standings).map(explained).collect()
}

#[cfg(test)]
mod tests;
