use std::collections::HashMap;
use std::sync::Arc;

use http::uri::{Authority, Scheme};
use nacos_client::{Instance, InstanceAddr, InstanceKey, ServiceKey, Weight};
use tokio::time::Instant;

use super::ServiceList;
use super::snapshot::Snapshot;
use crate::eject::Ejector;
use crate::node::{Node, median};
use crate::pick::{Member, NoInstanceReason, Tier};
use crate::settings::ServiceSettings;
use crate::{Endpoint, ServiceInstance, Target};

/// Turns lists of one service into snapshots, and keeps what survives lists.
#[derive(Debug)]
pub(super) struct Builder {
    service: ServiceKey,
    settings: Arc<ServiceSettings>,
    ejector: Arc<Ejector>,
    nodes: HashMap<InstanceKey, Arc<Node>>,
}

impl Builder {
    pub(super) fn new(service: ServiceKey, settings: Arc<ServiceSettings>, ejector: Arc<Ejector>) -> Self {
        Self { service, settings, ejector, nodes: HashMap::new() }
    }

    pub(super) fn build(&mut self, list: &ServiceList, random: u64, now: Instant) -> Snapshot {
        let seed = median(self.nodes.values().filter_map(|node| node.latency()));
        let mut nodes = HashMap::new();
        let mut members = Vec::new();
        for instance in list.instances().iter() {
            let node = self
                .nodes
                .remove(&instance.key())
                .unwrap_or_else(|| Arc::new(Node::new(now, seed, Arc::clone(&self.ejector))));
            nodes.insert(instance.key(), Arc::clone(&node));
            members.extend(self.member(instance, node));
        }
        self.nodes = nodes;
        let count = list.instances().len();
        let empty = if count == 0 { NoInstanceReason::NoneRegistered } else { NoInstanceReason::AllDrained { count } };
        let tiers =
            if members.is_empty() { Vec::new() } else { vec![Tier::new(members, self.settings.policy(), random)] };
        Snapshot { revision: list.revision(), tiers, empty, stale_since: list.stale() }
    }

    fn member(&self, instance: &Arc<Instance>, node: Arc<Node>) -> Option<Member> {
        let weight = Weight::usable(instance.weight).filter(|_| instance.is_pickable())?;
        let instance = ServiceInstance::new(self.service.clone(), Arc::clone(instance));
        let target = target(&instance)?;
        Some(Member::new(Arc::new(Endpoint::new(instance, target, node)), weight.get()))
    }
}

fn target(instance: &ServiceInstance) -> Option<Target> {
    let (scheme, port) = if instance.secure() { (Scheme::HTTPS, 443) } else { (Scheme::HTTP, 80) };
    let port = if instance.port() == 0 { port } else { instance.port() };
    let authority: Authority = InstanceAddr::new(instance.host(), port).to_string().parse().ok()?;
    Some(Target::new(scheme, authority))
}
