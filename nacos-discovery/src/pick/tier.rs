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
        let at = self.table.pick(&self.members, cx)?;
        self.members.get(at).map(Member::endpoint)
    }
}
