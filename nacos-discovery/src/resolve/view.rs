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
    /// Those that requests are drawn from, the most preferred first; each has the ones before it. Where requests are routed,
    /// those of the baseline.
    pub(crate) tiers: Vec<Vec<Member>>,
    /// Where requests are routed, what the tables of the labels prefer.
    pub(crate) others: Vec<Vec<Member>>,
    /// Where the request is routed that was asked about.
    pub(crate) routed: Option<RoutedView>,
    /// Why there is nobody, if there is nobody.
    pub(crate) refusal: Option<NoInstanceReason>,
    pub(crate) reach: Reach,
}

/// Where a request goes by the rules.
#[derive(Debug)]
pub(crate) struct RoutedView {
    pub(crate) rule: Option<String>,
    /// With the percentage of each.
    pub(crate) ways: Vec<(f64, Side)>,
    /// Where it goes if nobody there takes it; `None`: nowhere.
    pub(crate) miss: Option<Side>,
    /// How many instances take requests.
    pub(crate) takers: usize,
}

/// The instances of one label.
#[derive(Debug)]
pub(crate) struct Side {
    /// As people call it.
    pub(crate) label: String,
    /// Of every instance of the list; [`Verdict::Unrouted`] for those that are not of the label.
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) tiers: Vec<Vec<Member>>,
}
