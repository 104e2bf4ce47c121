use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::time::Instant;

use super::group::Group;
use super::row::{Health, Row};
use crate::Endpoint;
use crate::eject::Ramp;
use crate::pick::{Candidate, Member, Preferences, Share, Spill, Tier, Verdict};
use crate::settings::ServiceSettings;

/// The instances of a list as far as each is itself concerned, before some are preferred to others.
pub(super) struct Field<'a> {
    pub(super) rows: &'a [Row],
    judged: Vec<Result<Usable<'a>, Verdict>>,
    settings: &'a ServiceSettings,
    seed: u64,
    /// When the weights of instances that are started slowly are others.
    pub(super) next_step: Option<Instant>,
}

#[derive(Clone, Copy)]
struct Usable<'a> {
    endpoint: &'a Arc<Endpoint>,
    /// As it is registered.
    weight: f64,
    /// As it is now.
    ramped: f64,
}

impl<'a> Field<'a> {
    pub(super) fn new(rows: &'a [Row], health: Health, settings: &'a ServiceSettings, seed: u64, now: Instant) -> Self {
        let usable = |(endpoint, weight)| Usable { endpoint, weight, ramped: weight };
        let mut judged: Vec<_> = rows.iter().map(|row| row.judged(health).map(usable)).collect();
        let joined =
            || judged.iter().filter_map(|one| one.as_ref().ok()).map(|usable| usable.endpoint.node().seat().joined());
        let ramp = settings.slow_start().map(|rules| Ramp::new(rules, joined(), now));
        let next_step = ramp.and_then(|ramp| ramp.next_step(joined()));
        if let Some(ramp) = ramp {
            for usable in judged.iter_mut().flatten() {
                usable.ramped = ramp.weight(usable.weight, usable.endpoint.node().seat().joined());
            }
        }
        Self { rows, judged, settings, seed, next_step }
    }

    pub(super) fn metadata(&self, at: usize) -> &'a BTreeMap<String, String> {
        self.rows[at].instance.registered_metadata()
    }

    /// How many can.
    pub(super) fn usable(&self) -> usize {
        self.judged.iter().filter(|judged| judged.is_ok()).count()
    }

    pub(super) fn endpoint(&self, at: usize) -> Option<&'a Arc<Endpoint>> {
        self.judged[at].as_ref().ok().map(|usable| usable.endpoint)
    }

    /// Why the instance of a row takes no requests, if that is because of itself.
    pub(super) fn out(&self, at: usize) -> Option<&Verdict> {
        self.judged[at].as_ref().err()
    }

    /// Puts the instances of some rows, which are in the order of the list, in order of preference.
    pub(super) fn arrange(&self, rows: &[usize]) -> Group {
        let among: Vec<(usize, Usable<'a>)> =
            rows.iter().filter_map(|at| Some((*at, *self.judged[*at].as_ref().ok()?))).collect();
        let candidate =
            |(_, one): &(usize, Usable<'a>)| Candidate { instance: one.endpoint.instance(), weight: one.ramped };
        let candidates: Vec<_> = among.iter().map(candidate).collect();
        let arranged = self.preferences(rows, &among).arrange(&candidates);
        let member = |share: &Share| Member::new(Arc::clone(among[share.candidate].1.endpoint), share.weight);
        let policy = self.settings.policy();
        let tier = |shares: &Vec<Share>| Tier::new(shares.iter().map(member).collect(), policy, self.seed);
        Group {
            tiers: arranged.tiers.iter().map(tier).collect(),
            emptied: arranged.emptied,
            verdicts: among.iter().map(|(at, _)| *at).zip(arranged.verdicts).collect(),
        }
    }

    fn preferences(&self, rows: &[usize], among: &[(usize, Usable<'a>)]) -> Preferences<'a> {
        let selection = self.settings.selection();
        let cluster = selection.own_cluster();
        let spill = selection.spillover().zip(cluster).map(|(threshold, own)| {
            let registered = rows.iter().map(|at| &self.rows[*at]).filter(|row| row.instance.cluster() == own);
            let eligible = among.iter().filter(|(_, one)| one.endpoint.instance().cluster() == own);
            Spill {
                threshold,
                registered: registered.map(Row::registered_weight).sum(),
                eligible: eligible.map(|(_, one)| one.weight).sum(),
            }
        });
        Preferences { cluster, zone: selection.zone(), spill, subset: selection.subset(), filters: selection.filters() }
    }
}
