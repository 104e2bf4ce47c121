use std::collections::BTreeMap;

use super::outcome::{DryRunDestination, DryRunRequest};
use crate::ServiceInstance;
use crate::route::{Goal, MissGoal, RecordedRequest, Router};

/// The rules of a service, and the instances that could take requests.
pub(super) struct Plan<'a> {
    router: &'a Router,
    metadata: Vec<&'a BTreeMap<String, String>>,
    /// Those of the baseline.
    baseline: usize,
    /// Those of each label.
    fixed: Vec<usize>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(router: &'a Router, instances: &'a [ServiceInstance]) -> Self {
        let can = |one: &&ServiceInstance| one.enabled() && one.healthy() && one.weight() > 0.0;
        let metadata: Vec<_> = instances.iter().filter(can).map(ServiceInstance::registered_metadata).collect();
        let count =
            |is_in: &dyn Fn(&BTreeMap<String, String>) -> bool| metadata.iter().filter(|one| is_in(one)).count();
        let baseline = count(&|metadata| router.is_baseline(metadata));
        let fixed = router.fixed().iter().map(|label| count(&|metadata| label.is_of(metadata))).collect();
        Self { router, metadata, baseline, fixed }
    }

    /// How many could take requests.
    pub(super) fn usable(&self) -> usize {
        self.metadata.len()
    }

    pub(super) fn request(&self, recorded: &RecordedRequest) -> DryRunRequest {
        let head = recorded.head();
        let ways = self.router.ways(&head);
        let to = ways.goals.iter().map(|(percent, goal)| DryRunDestination {
            destination: self.name(goal),
            percent: *percent,
            instances: self.found(goal),
        });
        let (miss, miss_instances) = match ways.miss {
            MissGoal::Fail => ("fail".to_owned(), 0),
            MissGoal::Baseline => ("baseline".to_owned(), self.baseline),
            MissGoal::Fixed(label) => (self.name(&Goal::Fixed(label)), self.found(&Goal::Fixed(label))),
        };
        DryRunRequest {
            request: format!("{} {}", head.method, head.uri.path()),
            rule: ways.rule.map(str::to_owned),
            to: to.collect(),
            miss,
            miss_instances,
        }
    }

    fn found(&self, goal: &Goal<'_>) -> usize {
        match goal {
            Goal::Baseline => self.baseline,
            Goal::Fixed(label) => self.fixed.get(*label).copied().unwrap_or_default(),
            Goal::Taken { .. } | Goal::Unnamed { .. } => {
                self.metadata.iter().filter(|one| self.router.is_of(goal, one)).count()
            }
        }
    }

    fn name(&self, goal: &Goal<'_>) -> String {
        self.router.name(goal, "baseline", "?")
    }
}
