use std::sync::Arc;

use super::{Filter, OnEmpty, Verdict, spill, subset};
use crate::{ServiceInstance, Subset};

/// An instance that may take requests as far as it is itself concerned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate<'a> {
    pub(crate) instance: &'a ServiceInstance,
    /// Above 0.
    pub(crate) weight: f64,
}

/// Which candidates are preferred to others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Preferences<'a> {
    pub(crate) cluster: Option<&'a str>,
    pub(crate) zone: Option<&'a str>,
    pub(crate) spill: Option<Spill>,
    pub(crate) subset: Option<&'a Subset>,
    pub(crate) filters: &'a [Arc<dyn Filter>],
}

/// When requests leave the own cluster.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spill {
    /// Which share of the registered weight must be usable.
    pub(crate) threshold: f64,
    /// The registered weight of the own cluster.
    pub(crate) registered: f64,
    /// The usable part of it.
    pub(crate) eligible: f64,
}

/// A candidate's part in a tier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Share {
    /// Which candidate.
    pub(crate) candidate: usize,
    pub(crate) weight: f64,
}

/// Candidates in order of preference.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arranged {
    /// The most preferred first; each contains the ones before it, and none is empty. Members are in the order of the
    /// candidates.
    pub(crate) tiers: Vec<Vec<Share>>,
    /// One for each candidate.
    pub(crate) verdicts: Vec<Verdict>,
    /// The filter that left nothing, and how many there were before it.
    pub(crate) emptied: Option<(Arc<str>, usize)>,
}

impl Preferences<'_> {
    /// Puts candidates, which are sorted by address and cluster, in order of preference.
    pub(crate) fn arrange(&self, candidates: &[Candidate<'_>]) -> Arranged {
        let mut work = Work::new(candidates.len());
        let spilling = self.own_share(candidates).filter(|share| *share < 1.0);
        for circle in self.circles(candidates, spilling.is_some()) {
            work.add(self.reduced(candidates, circle));
        }
        let mut arranged = work.arranged(candidates, |instance, tier| self.verdict(instance, tier));
        if let (Some(share), [only]) = (spilling, arranged.tiers.as_mut_slice()) {
            self.scale(candidates, only, share);
        }
        arranged
    }

    fn is_own(&self, instance: &ServiceInstance) -> bool {
        self.cluster.is_none_or(|own| own == instance.cluster())
    }

    fn is_near(&self, instance: &ServiceInstance) -> bool {
        self.zone.is_none_or(|own| instance.zone().is_some_and(|zone| zone.eq_ignore_ascii_case(own)))
    }

    /// The share of the requests that stays in the own cluster, where both it and others have candidates.
    fn own_share(&self, candidates: &[Candidate<'_>]) -> Option<f64> {
        let Spill { threshold, registered, eligible } = self.spill?;
        let own = candidates.iter().filter(|candidate| self.is_own(candidate.instance)).count();
        (own > 0 && own < candidates.len()).then(|| spill::own_share(eligible, registered, threshold))
    }

    /// Sets of candidates, the most preferred first, the last one all. While requests leave the own cluster, neither it nor
    /// a zone in it is preferred: that would keep them there.
    fn circles(&self, candidates: &[Candidate<'_>], spilling: bool) -> Vec<Vec<usize>> {
        let all: Vec<usize> = (0..candidates.len()).collect();
        if spilling || (self.cluster.is_none() && self.zone.is_none()) {
            return vec![all];
        }
        let among = |circle: &[usize], keep: &dyn Fn(&ServiceInstance) -> bool| -> Vec<usize> {
            circle.iter().copied().filter(|at| keep(candidates[*at].instance)).collect()
        };
        let own = among(&all, &|instance| self.is_own(instance));
        let base = if own.is_empty() { &all } else { &own };
        vec![among(base, &|instance| self.is_near(instance)), own, all]
    }

    /// What subset and filters leave of a circle.
    fn reduced(&self, candidates: &[Candidate<'_>], mut circle: Vec<usize>) -> Reduced {
        let before = circle.clone();
        if let Some(subset) = self.subset {
            subset::reduce(candidates, &mut circle, subset);
        }
        let mut out: Vec<(usize, Verdict)> = Vec::new();
        if circle.len() < before.len() {
            let outside = before.into_iter().filter(|at| circle.binary_search(at).is_err());
            out.extend(outside.map(|at| (at, Verdict::OutsideSubset)));
        }
        let mut emptied = None;
        for filter in self.filters {
            let (kept, gone): (Vec<usize>, Vec<usize>) =
                circle.iter().partition(|at| filter.keep(candidates[**at].instance));
            if kept.is_empty() && (gone.is_empty() || filter.on_empty() == OnEmpty::Skip) {
                continue;
            }
            let name: Arc<str> = filter.name().into();
            if kept.is_empty() {
                emptied = Some((Arc::clone(&name), gone.len()));
            }
            out.extend(gone.into_iter().map(|at| (at, Verdict::Filtered { filter: Arc::clone(&name) })));
            circle = kept;
        }
        Reduced { kept: circle, out, emptied }
    }

    fn verdict(&self, instance: &ServiceInstance, tier: usize) -> Verdict {
        if !self.is_own(instance) {
            Verdict::OtherCluster { tier }
        } else if !self.is_near(instance) {
            Verdict::OtherZone { tier }
        } else {
            Verdict::Eligible { tier }
        }
    }

    fn scale(&self, candidates: &[Candidate<'_>], tier: &mut [Share], share: f64) {
        let is_own = |member: &Share| self.is_own(candidates[member.candidate].instance);
        let weight = |own: bool| tier.iter().filter(|member| is_own(member) == own).map(|member| member.weight).sum();
        let (own, others): (f64, f64) = (weight(true), weight(false));
        if own > 0.0 && others > 0.0 {
            let (at_home, away) = spill::factors(own, others, share);
            for member in tier {
                member.weight *= if is_own(member) { at_home } else { away };
            }
        }
    }
}

struct Reduced {
    kept: Vec<usize>,
    out: Vec<(usize, Verdict)>,
    emptied: Option<(Arc<str>, usize)>,
}

/// Circles as they become tiers.
struct Work {
    /// The first tier of each candidate.
    first: Vec<Option<usize>>,
    /// How many there are.
    tiers: usize,
    /// Why candidates are in none, as of the last circle.
    out: Vec<(usize, Verdict)>,
    emptied: Option<(Arc<str>, usize)>,
}

impl Work {
    fn new(candidates: usize) -> Self {
        Self { first: vec![None; candidates], tiers: 0, out: Vec::new(), emptied: None }
    }

    /// A circle that adds nobody is no tier of its own.
    fn add(&mut self, circle: Reduced) {
        let mut added = false;
        for at in circle.kept {
            if self.first[at].is_none() {
                self.first[at] = Some(self.tiers);
                added = true;
            }
        }
        self.tiers += usize::from(added);
        self.out = circle.out;
        self.emptied = circle.emptied;
    }

    fn arranged(self, candidates: &[Candidate<'_>], verdict: impl Fn(&ServiceInstance, usize) -> Verdict) -> Arranged {
        let member = |tier: usize| {
            let within =
                self.first.iter().enumerate().filter(move |(_, first)| first.is_some_and(|first| first <= tier));
            within.map(|(at, _)| Share { candidate: at, weight: candidates[at].weight }).collect()
        };
        let tiers: Vec<Vec<Share>> = (0..self.tiers).map(member).collect();
        // Whoever is in no tier is out of the last circle, which has all candidates.
        let mut verdicts = vec![Verdict::OutsideSubset; candidates.len()];
        for (at, why) in self.out {
            verdicts[at] = why;
        }
        for (at, first) in self.first.iter().enumerate() {
            if let Some(tier) = first {
                verdicts[at] = verdict(candidates[at].instance, *tier);
            }
        }
        let emptied = self.emptied.filter(|_| tiers.is_empty());
        Arranged { tiers, verdicts, emptied }
    }
}

#[cfg(test)]
mod tests;
