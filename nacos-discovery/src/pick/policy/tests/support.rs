use std::sync::Arc;

use nacos_client::{Instance, ServiceKey, Weight};

use crate::node::Node;
use crate::pick::Avoid;
use crate::{
    ConsistentHash, Endpoint, Endpoints, LeastRequest, Member, PeakEwma, PickContext, Picked, Policy, Random,
    RoundRobin, ServiceList, ServiceSettings, SmoothRoundRobin, Table, WeightedRandom,
};

pub(super) const SEED: u64 = 20_240_601;

/// All of them.
pub(super) fn policies() -> Vec<Arc<dyn Policy>> {
    vec![
        Arc::new(WeightedRandom),
        Arc::new(Random),
        Arc::new(SmoothRoundRobin),
        Arc::new(RoundRobin),
        Arc::new(LeastRequest),
        Arc::new(PeakEwma),
        Arc::new(ConsistentHash::new()),
    ]
}

const FIRST_PORT: u16 = 10_000;

/// The `at`th instance of a list, by its port.
pub(super) fn instance(at: usize, weight: f64) -> Arc<Instance> {
    let mut instance = Instance::new(("10.0.0.1", FIRST_PORT + at as u16));
    instance.weight = weight;
    Arc::new(instance)
}

pub(super) fn list(revision: u64, weights: &[f64]) -> ServiceList {
    ServiceList::new(revision, weights.iter().enumerate().map(|(at, weight)| instance(at, *weight)))
}

/// A service whose list has instances of these weights.
pub(super) fn service(policy: impl Policy, weights: &[f64]) -> Endpoints {
    let settings = Arc::new(ServiceSettings::default().with_policy(policy));
    let endpoints = Endpoints::new(ServiceKey::new("", "orders"), settings);
    endpoints.apply(&list(1, weights));
    endpoints
}

/// Which instance of the list it is.
pub(super) fn place(endpoint: &Endpoint) -> usize {
    usize::from(endpoint.instance().port() - FIRST_PORT)
}

pub(super) fn picked(service: &Endpoints, cx: &mut PickContext<'_>) -> usize {
    let picked: Picked = service.pick(cx).expect("there is one");
    place(picked.endpoint())
}

/// How often each of `n` was picked in `picks`.
pub(super) fn count(n: usize, picks: usize, mut pick: impl FnMut() -> usize) -> Vec<usize> {
    let mut seen = vec![0; n];
    for _ in 0..picks {
        seen[pick()] += 1;
    }
    seen
}

/// A table and what it is of.
pub(super) struct Bench {
    pub(super) members: Vec<Member>,
    pub(super) table: Box<dyn Table>,
}

impl Bench {
    pub(super) fn new(policy: &dyn Policy, weights: &[f64]) -> Self {
        let service = service(WeightedRandom, weights);
        let weight = |endpoint: &Endpoint| Weight::usable(endpoint.instance().weight()).map(Weight::get);
        let members: Vec<_> = service
            .all()
            .into_iter()
            .filter_map(|endpoint| weight(&endpoint).map(|weight| Member::new(endpoint, weight)))
            .collect();
        let table = policy.table(&members, SEED);
        Self { members, table }
    }

    pub(super) fn pick(&self, cx: &mut PickContext<'_>) -> Option<usize> {
        self.table.pick(&self.members, cx)
    }

    pub(super) fn node(&self, at: usize) -> Arc<Node> {
        Arc::clone(self.members[at].endpoint().node())
    }

    /// A call of a member begins.
    pub(super) fn begin(&self, at: usize) -> Picked {
        Picked::begin(self.members[at].endpoint()).expect("nothing is ejected")
    }
}

/// A context that passes over `tried`.
pub(super) fn avoiding<'a>(rng: &'a mut fastrand::Rng, tried: &'a [Arc<Node>]) -> PickContext<'a> {
    let mut cx = PickContext::new().seeded(rng).without(tried);
    cx.avoiding(Avoid::Unusable { probing: 0 });
    cx
}
