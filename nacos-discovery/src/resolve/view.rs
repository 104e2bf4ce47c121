use std::sync::Arc;

use super::ListStatus;
use crate::pick::{Member, NoInstanceReason, Reach, Verdict};
use crate::{Endpoint, ServiceInstance};

/// A list and its tables at one moment, for people to look at.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) status: ListStatus,
    pub(crate) verdicts: Vec<(ServiceInstance, Verdict)>,
    /// Everyone that a request can go to.
    pub(crate) everyone: Vec<Arc<Endpoint>>,
    /// Those that requests are drawn from, the most preferred first; each has the ones before it.
    pub(crate) tiers: Vec<Vec<Member>>,
    /// Why there is no tier, if there is none.
    pub(crate) refusal: Option<NoInstanceReason>,
    pub(crate) reach: Reach,
}
