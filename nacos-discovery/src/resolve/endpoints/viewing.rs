use super::{Endpoints, lock};
use crate::ServiceInstance;
use crate::pick::{Member, Tier, Verdict};
use crate::resolve::group::Group;
use crate::resolve::routed::Routed;
use crate::resolve::snapshot::Snapshot;
use crate::resolve::tables::Tables;
use crate::resolve::{RoutedView, Side, View};
use crate::route::{Goal, MissGoal, RequestHead};

impl Endpoints {
    /// What requests are spread over now, and `request` among them; `None` before the first list.
    pub(crate) fn view(&self, request: Option<&RequestHead<'_>>) -> Option<View> {
        let reach = lock(&self.builder).reach();
        let current = self.current.load_full()?;
        let routed = match &current.tables {
            Tables::Plain(_) => None,
            Tables::Routed(routed) => Some(&**routed),
        };
        let firsts =
            |routed: &Routed| routed.groups().filter_map(|group| Some(members(group.tiers.first()?))).collect();
        Some(View {
            status: current.status,
            verdicts: current.content.verdicts.clone(),
            everyone: current.endpoints().cloned().collect(),
            refusal: current.tables.is_empty().then(|| current.refusal()),
            tiers: current.tables.usual().iter().map(members).collect(),
            others: routed.map(firsts).unwrap_or_default(),
            routed: routed.zip(request).map(|(routed, head)| view_of(&current, routed, head)),
            reach,
        })
    }
}

fn view_of(snapshot: &Snapshot, routed: &Routed, head: &RequestHead<'_>) -> RoutedView {
    let ways = routed.ways(head);
    let miss = match ways.miss {
        MissGoal::Fail => None,
        MissGoal::Baseline => Some(Goal::Baseline),
        MissGoal::Fixed(label) => Some(Goal::Fixed(label)),
    };
    RoutedView {
        rule: ways.rule.map(str::to_owned),
        ways: ways.goals.iter().map(|(percent, goal)| (*percent, side(snapshot, routed, goal))).collect(),
        miss: miss.map(|goal| side(snapshot, routed, &goal)),
        takers: routed.takers(),
    }
}

fn side(snapshot: &Snapshot, routed: &Routed, goal: &Goal<'_>) -> Side {
    let group = routed.goal(goal);
    let own = |(instance, verdict): &(ServiceInstance, Verdict)| {
        let is_of = routed.is_of(goal, instance.registered_metadata());
        if is_of { verdict.clone() } else { Verdict::Unrouted }
    };
    let mut verdicts: Vec<_> = snapshot.content.verdicts.iter().map(own).collect();
    for (at, verdict) in group.map(|group| &*group.verdicts).unwrap_or_default() {
        verdicts[*at] = verdict.clone();
    }
    let tiers = |group: &Group| group.tiers.iter().map(members).collect();
    Side { label: routed.name(goal), verdicts, tiers: group.map(tiers).unwrap_or_default() }
}

fn members(tier: &Tier) -> Vec<Member> {
    tier.members().to_vec()
}
