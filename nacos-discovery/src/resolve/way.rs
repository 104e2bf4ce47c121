use std::sync::Arc;

use super::group::Group;
use super::routed::Routed;
use crate::Endpoint;
use crate::pick::{NoInstanceReason, PickContext};
use crate::route::Route;

/// Where a request goes by the rules, and where if nobody there takes it.
pub(super) struct Way<'a> {
    pub(super) route: Route<'a>,
    /// `None` if no instance has the label.
    pub(super) goal: Option<&'a Group>,
    /// `None` if it then goes nowhere.
    pub(super) miss: Option<&'a Group>,
    pub(super) routed: &'a Routed,
}

type Choice = for<'g> fn(&'g Group, &mut PickContext<'_>) -> Option<&'g Arc<Endpoint>>;

impl<'a> Way<'a> {
    pub(super) fn pick(&self, cx: &mut PickContext<'_>) -> Option<&'a Arc<Endpoint>> {
        self.first(cx, Group::pick)
    }

    pub(super) fn any_taken(&self, cx: &mut PickContext<'_>) -> Option<&'a Arc<Endpoint>> {
        self.first(cx, Group::any_taken)
    }

    fn first(&self, cx: &mut PickContext<'_>, pick: Choice) -> Option<&'a Arc<Endpoint>> {
        let of_goal = self.goal.and_then(|group| pick(group, cx));
        cx.tell(self.route.rule, of_goal.is_none());
        of_goal.or_else(|| pick(self.miss?, cx))
    }

    /// Everyone it can lead to.
    pub(super) fn into_endpoints(self) -> impl Iterator<Item = &'a Arc<Endpoint>> + use<'a> {
        self.groups().flat_map(Group::endpoints)
    }

    /// Why there is nobody where it leads; `None` if there is somebody, who does not take the request.
    pub(super) fn dead_end(&self) -> Option<NoInstanceReason> {
        if self.groups().any(|group| !group.is_empty()) {
            return None;
        }
        let filtered = self.groups().find_map(Group::filtered);
        Some(filtered.unwrap_or_else(|| NoInstanceReason::RouteMiss {
            rule: self.route.rule.map(str::to_owned),
            label: self.routed.name(&self.route.goal),
            count: self.routed.takers(),
        }))
    }

    /// In the order in which they are asked.
    fn groups(&self) -> impl Iterator<Item = &'a Group> + use<'a> {
        [self.goal, self.miss].into_iter().flatten()
    }
}
