use std::sync::Arc;
use std::time::Duration;

use http::Request;
use nacos_client::{Instance, ServiceKey};

use crate::route::{Destination, Label, Miss, RequestHead, RouteRules, Rule, Subject, Test};
use crate::{
    AddressFamily, EjectionState, Endpoints, Explanation, Outcome, PickContext, ServiceList, ServiceSettings, Standing,
};

fn of(port: u16, version: &str) -> Instance {
    Instance::new(("10.0.0.1", port)).metadata("version", version)
}

fn label(version: &str) -> Label {
    Label::new("version", version)
}

fn rules(miss: Miss) -> RouteRules {
    let testers = Rule::new("testers").when_header("x-version", Test::exact("v2")).to(label("v2")).or(miss);
    let canary = Rule::new("canary").share(10.0, label("v2")).share(90.0, Destination::Baseline);
    let canary = canary.when_header("x-canary", Test::Present).sticky_by(Subject::header("x-user"));
    RouteRules::new().with_baseline(label("v1")).with_rule(testers).with_rule(canary)
}

fn endpoints(miss: Miss, instances: impl IntoIterator<Item = Instance>) -> Endpoints {
    let settings = ServiceSettings::default().with_address_family(AddressFamily::Ipv4);
    let endpoints = Endpoints::new(ServiceKey::new("", "orders"), Arc::new(settings));
    endpoints.set_rules(Some(&rules(miss))).unwrap();
    endpoints.apply(&ServiceList::new(1, instances.into_iter().map(Arc::new)));
    endpoints
}

fn request(headers: &[(&'static str, &str)]) -> Request<()> {
    headers.iter().fold(Request::get("/"), |request, (name, value)| request.header(*name, *value)).body(()).unwrap()
}

fn explain(endpoints: &Endpoints, headers: &[(&'static str, &str)]) -> Explanation {
    endpoints.explain_request(RequestHead::from(&request(headers)))
}

/// Share in percent and reason of each instance.
fn told(explanation: &Explanation) -> Vec<(f64, Option<&str>)> {
    explanation.instances.iter().map(|one| (one.share, one.reason.as_deref())).collect()
}

#[test]
fn a_request_is_told_its_rule_who_takes_it_and_why_the_others_do_not() {
    let endpoints = endpoints(Miss::Fail, [of(1, "v1"), of(2, "v2"), of(3, "v2").weight(3.0), of(4, "v3")]);
    let explanation = explain(&endpoints, &[("x-version", "v2")]);
    let not_v2 = Some("not version=v2, which the rule `testers` asks for");
    assert_eq!(told(&explanation), [(0.0, not_v2), (25.0, None), (75.0, None), (0.0, not_v2)]);
    assert!(explanation.takes_requests());
    let text = explanation.to_string();
    assert!(text.contains("\n  routed: by the rule `testers` to version=v2 (2 take requests)\n"), "{text}");

    let explanation = explain(&endpoints, &[]);
    let not_baseline = Some("not the baseline, where requests go that no rule applies to");
    assert_eq!(told(&explanation), [(100.0, None), (0.0, not_baseline), (0.0, not_baseline), (0.0, not_baseline)]);
    let text = explanation.to_string();
    assert!(text.contains("\n  routed: no rule applies, so to the baseline (1 take requests)\n"), "{text}");
    assert_eq!(endpoints.explain().instances, explanation.instances, "a request that says nothing");
}

#[test]
fn where_a_draw_decides_shares_are_those_of_all_ways_together() {
    let endpoints = endpoints(Miss::Fail, [of(1, "v1"), of(2, "v1"), of(3, "v2")]);
    let explanation = explain(&endpoints, &[("x-canary", "yes")]);
    assert_eq!(told(&explanation), [(45.0, None), (45.0, None), (10.0, None)]);
    let text = explanation.route.as_ref().unwrap().to_string();
    let both = "version=v2 10 % (1 take requests), to the baseline 90 % (2 take requests)";
    assert_eq!(text, format!("by the rule `canary` to {both}"));
    let users: Vec<_> = (0..100).map(|user| user.to_string()).collect();
    for user in &users {
        let route = explain(&endpoints, &[("x-canary", "yes"), ("x-user", user)]).route.unwrap();
        assert_eq!((route.to.len(), route.to[0].percent), (1, 100.0), "the user has been drawn for");
    }
}

#[test]
fn what_a_miss_does_is_told() {
    let gone = || [of(1, "v1"), of(2, "v1"), of(3, "v2").weight(0.0)];
    let fails = explain(&endpoints(Miss::Fail, gone()), &[("x-version", "v2")]);
    let reason = "none of 2 is of version=v2, as the rule `testers` asks for";
    assert_eq!(fails.no_instance.as_deref(), Some(reason));
    assert!(fails.instances.iter().all(|one| one.standing == Standing::LeftOut));
    assert_eq!(told(&fails)[2].1, Some("drained: its weight is 0, or no number"));
    assert_eq!(fails.near_misses.len(), 1, "the v2 that is drained: {:?}", fails.near_misses);
    let text = fails.route.unwrap().to_string();
    assert_eq!(text, "by the rule `testers` to version=v2 (nobody takes requests: they fail)");

    let goes_on = explain(&endpoints(Miss::Baseline, gone()), &[("x-version", "v2")]);
    let why = Some("nobody of version=v2 takes requests");
    assert_eq!(told(&goes_on)[..2], [(50.0, why), (50.0, why)]);
    let text = goes_on.route.as_ref().unwrap().to_string();
    assert_eq!(text, "by the rule `testers` to version=v2 (nobody takes requests: they go to the baseline)");

    let there = explain(&endpoints(Miss::Baseline, [of(1, "v1"), of(2, "v2")]), &[("x-version", "v2")]);
    let why = Some("in reserve: for requests that nobody of version=v2 takes");
    assert_eq!((told(&there), there.instances[0].standing), (vec![(0.0, why), (100.0, None)], Standing::InReserve));
}

#[test]
fn an_ejected_instance_of_the_label_is_told_from_one_of_another() {
    let endpoints = endpoints(Miss::Fail, [of(1, "v1"), of(2, "v2")]);
    let request = request(&[("x-version", "v2")]);
    let head = RequestHead::from(&request);
    while matches!(endpoints.all()[1].ejection(), EjectionState::Healthy { .. }) {
        let picked = endpoints.pick(&mut PickContext::new().for_request(head)).unwrap();
        picked.finish(Outcome::ServerFailure { latency: Duration::from_millis(1) });
    }
    let explanation = endpoints.explain_request(head);
    let standings: Vec<_> = explanation.instances.iter().map(|one| one.standing).collect();
    assert_eq!(standings, [Standing::LeftOut, Standing::Ejected]);
    assert_eq!(explanation.no_instance.as_deref(), Some("all that it is routed to are ejected for the moment"));
    assert!(endpoints.explain().takes_requests());
}
