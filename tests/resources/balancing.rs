//! What choosing an instance takes.

use std::sync::Arc;

use nacos_client::{Instance, ServiceKey};
use nacos_discovery::{
    BalanceSettings, ConsistentHash, Directory, Endpoints, InMemoryDiscovery, LeastRequest, PeakEwma, PickContext,
    Policy, Random, RoundRobin, ServiceList, ServiceSettings, SmoothRoundRobin, Tried, WeightedRandom,
};

use super::{allocations, alone};

fn policies() -> Vec<Arc<dyn Policy>> {
    vec![
        Arc::new(WeightedRandom::default()),
        Arc::new(Random::default()),
        Arc::new(SmoothRoundRobin::default()),
        Arc::new(RoundRobin::default()),
        Arc::new(LeastRequest::default()),
        Arc::new(PeakEwma::default()),
        Arc::new(ConsistentHash::default()),
    ]
}

fn service(policy: Arc<dyn Policy>, count: u16) -> Endpoints {
    let settings = Arc::new(ServiceSettings::default().with_policy(policy));
    let endpoints = Endpoints::new(ServiceKey::new("", "orders"), settings);
    let instances = (1..=count).map(|port| Arc::new(Instance::new(("10.0.0.1", port)).weight(f64::from(port % 7 + 1))));
    endpoints.apply(&ServiceList::new(1, instances));
    endpoints
}

#[test]
fn choosing_an_instance_allocates_nothing_by_any_policy() {
    let _alone = alone();
    for policy in policies() {
        for count in [1, 10, 1_000] {
            let endpoints = service(Arc::clone(&policy), count);
            let calls = allocations(|| {
                // Some are in flight meanwhile, so that there is something to compare.
                let mut before = None;
                for key in 0..1_000 {
                    let picked = endpoints.pick(&mut PickContext::new().hashed_by(key)).expect("some can be picked");
                    before.replace(picked);
                }
            });
            assert_eq!(calls, 0, "{policy:?} with {count} instances");
        }
    }
    // The counter counts.
    assert!(allocations(|| drop(Tried::new())) > 0);
}

#[test]
fn finding_a_service_by_its_names_allocates_nothing() {
    let _alone = alone();
    let known = InMemoryDiscovery::new().with("orders", [Instance::new(("10.0.0.1", 1))]);
    let directory = Directory::new(Arc::new(known), BalanceSettings::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let endpoints = runtime.block_on(async {
        let endpoints = directory.endpoints_named("", "orders").expect("a valid name");
        endpoints.ready().await.expect("it is known");
        endpoints
    });
    let calls = allocations(|| {
        for _ in 0..1_000 {
            let found = directory.endpoints_named("", "orders").expect("a valid name");
            assert!(Arc::ptr_eq(&found, &endpoints));
        }
    });
    assert_eq!(calls, 0);
}
