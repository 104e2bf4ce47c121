use super::assemble;
use super::glance::{Found, Glance};
use super::see::see_side;
use super::{ExplainedInstance, ExplainedRoute, ExplainedShare, Standing};
use crate::pick::{NoInstanceReason, Verdict};
use crate::resolve::{RoutedView, Side};

impl Glance<'_> {
    /// Where the rules say where a request goes.
    pub(super) fn by_route(&self, routed: &RoutedView) -> Found {
        let mut instances: Vec<ExplainedInstance> = Vec::new();
        let mut to = Vec::new();
        for (percent, goal) in &routed.ways {
            let (share, of_way) = self.way(routed, *percent, goal);
            to.push(share);
            instances = if instances.is_empty() { of_way } else { merged(instances, of_way) };
        }
        let first = routed.ways.first().map(|(_, side)| see_side(self.view, side, self.tried, self.now));
        let (seen, serving) = first.unwrap_or_default();
        let fails = to.iter().all(|share| share.no_instance.is_some());
        let no_instance = to.first().and_then(|share| share.no_instance.clone()).filter(|_| fails);
        let miss = routed.miss.as_ref().map(|side| side.label.clone());
        let route = ExplainedRoute { rule: routed.rule.clone(), to, miss };
        Found { route: Some(route), instances, seen, serving, no_instance }
    }

    /// Those requests that go one way.
    fn way(&self, routed: &RoutedView, percent: f64, goal: &Side) -> (ExplainedShare, Vec<ExplainedInstance>) {
        let (mut instances, takes) = self.of_side(goal);
        for (one, verdict) in instances.iter_mut().zip(&goal.verdicts) {
            if *verdict == Verdict::Unrouted {
                one.reason = Some(not_of(routed, goal));
            }
        }
        let serving = instances.iter().filter(|one| one.is_serving()).count();
        let mut helps = false;
        if let Some(miss) = routed.miss.as_ref().filter(|miss| miss.label != goal.label) {
            let (mut others, some) = self.of_side(miss);
            helps = some;
            for (one, verdict) in others.iter_mut().zip(&miss.verdicts) {
                behind(one, verdict, goal, takes);
            }
            instances = merged(instances, others);
        }
        for one in &mut instances {
            one.share *= percent / 100.0;
        }
        let no_instance = (!takes && !helps).then(|| self.why_none(routed, goal));
        (ExplainedShare { percent, label: goal.label.clone(), serving, missed: !takes, no_instance }, instances)
    }

    /// The instances as one label has them, and whether one of them takes requests.
    fn of_side(&self, side: &Side) -> (Vec<ExplainedInstance>, bool) {
        let (seen, serving) = see_side(self.view, side, self.tried, self.now);
        (assemble::instances(seen, serving, self.viewpoint), serving.is_some())
    }

    fn why_none(&self, routed: &RoutedView, goal: &Side) -> String {
        if let Some(refusal) = &self.view.refusal {
            return refusal.to_string();
        }
        if [Some(goal), routed.miss.as_ref()].into_iter().flatten().all(|side| side.tiers.is_empty()) {
            let (rule, label, count) = (routed.rule.clone(), goal.label.clone(), routed.takers);
            return NoInstanceReason::RouteMiss { rule, label, count }.to_string();
        }
        match self.tried.len() {
            0 => "all that it is routed to are ejected for the moment".to_owned(),
            count => NoInstanceReason::AllTried { count }.to_string(),
        }
    }
}

/// An instance that serves where nobody of the goal does. Whoever is not of the miss either is left to what the goal says of it.
fn behind(one: &mut ExplainedInstance, verdict: &Verdict, goal: &Side, goal_takes: bool) {
    if *verdict == Verdict::Unrouted {
        one.reason = None;
    } else if one.standing == Standing::Serving && goal_takes {
        one.standing = Standing::InReserve;
        one.share = 0.0;
        one.reason = Some(format!("in reserve: for requests that nobody of {} takes", goal.label));
    } else if one.standing == Standing::Serving {
        one.reason = Some(format!("nobody of {} takes requests", goal.label));
    }
}

fn not_of(routed: &RoutedView, goal: &Side) -> String {
    match &routed.rule {
        Some(rule) => format!("not {}, which the rule `{rule}` asks for", goal.label),
        None => format!("not {}, where requests go that no rule applies to", goal.label),
    }
}

/// Instances as two ways have them: who gets requests by one of them gets requests.
fn merged(one: Vec<ExplainedInstance>, other: Vec<ExplainedInstance>) -> Vec<ExplainedInstance> {
    let both = |(one, other): (ExplainedInstance, ExplainedInstance)| {
        let share = one.share + other.share;
        let better = rank(other.standing) < rank(one.standing);
        ExplainedInstance { share, ..if better { other } else { one } }
    };
    one.into_iter().zip(other).map(both).collect()
}

const fn rank(standing: Standing) -> u8 {
    match standing {
        Standing::Serving => 0,
        Standing::Ejected => 1,
        Standing::Tried => 2,
        Standing::InReserve => 3,
        Standing::LeftOut => 4,
    }
}

#[cfg(test)]
mod tests;
