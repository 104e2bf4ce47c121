use std::sync::Arc;

use tokio::time::Instant;

use super::row::{Health, Row};
use crate::eject::Ramp;
use crate::pick::{Arranged, Candidate, Member, NoInstanceReason, Preferences, Share, Spill, Tier, Verdict};
use crate::settings::ServiceSettings;
use crate::{Endpoint, ServiceInstance};

/// What picks and people read of a list: the part that equal lists share.
#[derive(Debug)]
pub(super) struct Content {
    /// The most preferred one first; none is empty.
    pub(super) tiers: Arc<[Tier]>,
    /// Why there is no tier, if there is none.
    pub(super) empty: NoInstanceReason,
    /// Every instance of the list.
    pub(super) verdicts: Vec<(ServiceInstance, Verdict)>,
    /// When the weights of instances that are started slowly are others.
    pub(super) next_step: Option<Instant>,
}

impl Content {
    /// Of no list at all.
    pub(super) fn none() -> Self {
        Self { tiers: Arc::new([]), empty: NoInstanceReason::NoneRegistered, verdicts: Vec::new(), next_step: None }
    }

    pub(super) fn new<'a>(rows: &'a [Row], settings: &ServiceSettings, seed: u64, now: Instant) -> Self {
        let health = health(rows, settings);
        let judged: Vec<Result<(&Arc<Endpoint>, f64), Verdict>> = rows.iter().map(|row| row.judged(health)).collect();
        let usable: Vec<_> = judged.iter().filter_map(|judged| judged.as_ref().ok().copied()).collect();
        let joined = || usable.iter().map(|(endpoint, _)| endpoint.node().seat().joined());
        let ramp = settings.slow_start().map(|rules| Ramp::new(rules, joined(), now));
        let candidate = |(endpoint, weight): &(&'a Arc<Endpoint>, f64)| {
            let ramped = ramp.map(|ramp| ramp.weight(*weight, endpoint.node().seat().joined()));
            Candidate { instance: endpoint.instance(), weight: ramped.unwrap_or(*weight) }
        };
        let candidates: Vec<_> = usable.iter().map(candidate).collect();
        let arranged = preferences(rows, &usable, settings).arrange(&candidates);
        let member = |share: &Share| Member::new(Arc::clone(usable[share.candidate].0), share.weight);
        let tier = |shares: &Vec<Share>| Tier::new(shares.iter().map(member).collect(), settings.policy(), seed);
        let tiers = arranged.tiers.iter().map(tier).collect();
        let empty = reason(rows, health, &arranged);
        let mut of_candidates = arranged.verdicts.into_iter();
        let verdict = |judged: Result<_, Verdict>| judged.map_or_else(Some, |_| of_candidates.next());
        let verdicts = judged.into_iter().map(verdict);
        let verdicts = rows.iter().zip(verdicts).filter_map(|(row, verdict)| Some((row.instance.clone(), verdict?)));
        let next_step = ramp.and_then(|ramp| ramp.next_step(joined()));
        Self { tiers, empty, verdicts: verdicts.collect(), next_step }
    }
}

fn health(rows: &[Row], settings: &ServiceSettings) -> Health {
    let waived =
        settings.selection().uses_unhealthy() && !rows.iter().any(|row| row.is_in_service() && row.instance.healthy());
    if waived { Health::Waived } else { Health::Needed }
}

fn preferences<'a>(rows: &[Row], usable: &[(&Arc<Endpoint>, f64)], settings: &'a ServiceSettings) -> Preferences<'a> {
    let selection = settings.selection();
    let cluster = selection.own_cluster();
    let spill = selection.spillover().zip(cluster).map(|(threshold, own)| Spill {
        threshold,
        registered: rows.iter().filter(|row| row.instance.cluster() == own).map(Row::registered_weight).sum(),
        eligible: usable.iter().filter(|(one, _)| one.instance().cluster() == own).map(|(_, weight)| *weight).sum(),
    });
    Preferences { cluster, zone: selection.zone(), spill, subset: selection.subset(), filters: selection.filters() }
}

/// Which rule left nothing.
fn reason(rows: &[Row], health: Health, arranged: &Arranged) -> NoInstanceReason {
    let count = rows.len();
    let in_service = rows.iter().filter(|row| row.is_in_service()).count();
    let healthy = |row: &&Row| row.is_in_service() && (health == Health::Waived || row.instance.healthy());
    let healthy = rows.iter().filter(healthy).count();
    match (&arranged.emptied, count, in_service, healthy) {
        (Some((filter, count)), ..) => NoInstanceReason::Filtered { filter: filter.to_string(), count: *count },
        (_, 0, ..) => NoInstanceReason::NoneRegistered,
        (_, _, 0, _) => NoInstanceReason::AllDrained { count },
        (_, _, count, 0) => NoInstanceReason::AllUnhealthy { count },
        (_, _, _, count) => NoInstanceReason::NoUsableAddress { count },
    }
}
