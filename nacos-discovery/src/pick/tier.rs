use std::sync::Arc;

use super::{Member, PickContext, Policy, Table};
use crate::Endpoint;

/// Instances that are preferred to those of the next tier: used as long as one of them takes requests.
#[derive(Debug)]
pub(crate) struct Tier {
    members: Box<[Member]>,
    table: Box<dyn Table>,
}

impl Tier {
    pub(crate) fn new(members: Vec<Member>, policy: &dyn Policy, seed: u64) -> Self {
        let members = members.into_boxed_slice();
        let table = policy.table(&members, seed);
        Self { members, table }
    }

    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    #[inline]
    pub(crate) fn pick(&self, cx: &mut PickContext<'_>) -> Option<&Arc<Endpoint>> {
        let member = self.members.get(self.table.pick(&self.members, cx)?)?;
        if cx.takes(member) { Some(member.endpoint()) } else { self.any_taken(cx) }
    }

    /// By chance, without the table: for a table of somebody else's that does not ask what may be picked, and where that
    /// changes while it looks.
    #[cold]
    pub(crate) fn any_taken(&self, cx: &mut PickContext<'_>) -> Option<&Arc<Endpoint>> {
        let start = cx.random() as usize % self.members.len();
        let (first, last) = self.members.split_at(start);
        last.iter().chain(first).find(|member| cx.takes(member)).map(Member::endpoint)
    }
}
