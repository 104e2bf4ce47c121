mod applying;
mod directory;
mod preferring;
mod racing;
mod rerouting;
mod routing;
mod routing_model;
mod slow;
mod updating;

use std::collections::BTreeMap;
use std::sync::Arc;

use nacos_client::{Instance, ServiceKey};

use crate::{
    AddressFamily, Endpoint, Endpoints, NoInstance, NoInstanceReason, Outcome, PickContext, ServiceList,
    ServiceSettings,
};

fn service() -> ServiceKey {
    ServiceKey::new("", "orders")
}

/// Settings under which the machine that runs the tests does not matter.
fn settings() -> ServiceSettings {
    ServiceSettings::default().with_address_family(AddressFamily::Ipv4)
}

fn endpoints(settings: ServiceSettings) -> Endpoints {
    Endpoints::new(service(), Arc::new(settings))
}

fn instance(port: u16) -> Instance {
    Instance::new(("10.0.0.1", port))
}

fn list(revision: u64, instances: impl IntoIterator<Item = Instance>) -> ServiceList {
    ServiceList::new(revision, instances.into_iter().map(Arc::new))
}

fn ports(endpoints: &[Arc<Endpoint>]) -> Vec<u16> {
    endpoints.iter().map(|endpoint| endpoint.instance().port()).collect()
}

/// How often each port was picked.
fn picks(endpoints: &Endpoints, count: usize) -> BTreeMap<u16, usize> {
    let mut rng = fastrand::Rng::with_seed(20_261_130);
    let mut picked = BTreeMap::new();
    for _ in 0..count {
        let one = endpoints.pick(&mut PickContext::new().seeded(&mut rng)).unwrap();
        *picked.entry(one.instance().port()).or_default() += 1;
        one.finish(Outcome::Cancelled);
    }
    picked
}

fn picked_ports(endpoints: &Endpoints) -> Vec<u16> {
    picks(endpoints, 1_000).into_keys().collect()
}

fn refusal(endpoints: &Endpoints) -> NoInstance {
    endpoints.pick(&mut PickContext::new()).unwrap_err()
}

fn reason(endpoints: &Endpoints) -> NoInstanceReason {
    refusal(endpoints).reason
}
