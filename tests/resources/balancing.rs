//! What choosing an instance takes.

use std::sync::Arc;

use http::Request;
use nacos_client::{Instance, ServiceKey};
use nacos_discovery::route::{Destination, Label, RequestHead, RouteRules, Rule, Subject, Test};
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
fn choosing_an_instance_by_rules_allocates_nothing() {
    let _alone = alone();
    let version = |port: u16| ["v1", "v2", "v3"][usize::from(port % 3)];
    let label = |version| Label::new("version", version);
    let from = Destination::LabelFrom { key: "version".to_owned(), subject: Subject::header("x-version") };
    let rules = RouteRules::new()
        .with_baseline(label("v1"))
        .with_rule(Rule::new("path").when_path(Test::prefix("/v2/")).to(label("v2")).or_fail())
        .with_rule(Rule::new("header").when_header("x-version", Test::Present).to(from))
        .with_rule(
            Rule::new("sticky")
                .share(10.0, label("v3"))
                .share(90.0, Destination::Baseline)
                .sticky_by(Subject::header("x-user")),
        );
    let endpoints = Endpoints::new(ServiceKey::new("", "orders"), Arc::new(ServiceSettings::default()));
    endpoints.set_rules(Some(&rules)).expect("they can be used");
    let instance = |port| Arc::new(Instance::new(("10.0.0.1", port)).metadata("version", version(port)));
    endpoints.apply(&ServiceList::new(1, (1..=100).map(instance)));
    let request = |path: &str, version: Option<&str>| {
        let request = Request::get(path).header("x-user", "ada").header("cookie", "a=b; c=d");
        version
            .into_iter()
            .fold(request, |request, version| request.header("x-version", version))
            .body(())
            .expect("valid")
    };
    let requests = [
        request("/v2/a", None),
        request("/a", Some("v3")),
        request("/a", Some("none-has-it")),
        request("/a?b=c", None),
    ];
    let calls = allocations(|| {
        for _ in 0..1_000 {
            for request in &requests {
                let mut cx = PickContext::new().for_request(RequestHead::from(request));
                drop(endpoints.pick(&mut cx).expect("some can be picked"));
            }
        }
    });
    assert_eq!(calls, 0);
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
