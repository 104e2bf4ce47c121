//! Requests that are routed by what they say.

use std::time::Duration;

use http::Request;

use super::*;
use crate::pick::Verdict;
use crate::route::{Destination, Label, Miss, RequestHead, RouteRules, Rule, Subject, Test};
use crate::{Filter, OnEmpty, RoundRobin, ServiceInstance, Subset, Tried};

/// An instance of a version; port 1 to 9 is v1, 21 to 29 is v2.
fn of(port: u16, version: &str) -> Instance {
    instance(port).metadata("version", version)
}

fn label(version: &str) -> Label {
    Label::new("version", version)
}

/// `x-version: v2` goes to v2.
fn gray(miss: Miss) -> RouteRules {
    let rule = Rule::new("gray").when_header("x-version", Test::exact("v2")).to(label("v2")).or(miss);
    RouteRules::new().with_baseline(label("v1")).with_rule(rule)
}

fn routed(settings: ServiceSettings, rules: &RouteRules) -> Endpoints {
    let endpoints = endpoints(settings);
    endpoints.set_rules(Some(rules)).unwrap();
    endpoints
}

fn asking(version: &str) -> Request<()> {
    Request::get("lb://orders/a").header("x-version", version).body(()).unwrap()
}

fn plain() -> Request<()> {
    Request::get("lb://orders/a").body(()).unwrap()
}

/// The port that a request goes to, and why to none.
fn go(endpoints: &Endpoints, request: &Request<()>) -> Result<u16, NoInstanceReason> {
    let picked = endpoints.pick(&mut PickContext::new().for_request(RequestHead::from(request)));
    picked.map(|picked| picked.instance().port()).map_err(|none| none.reason)
}

/// The ports that many such requests go to.
fn go_often(endpoints: &Endpoints, request: &Request<()>) -> Vec<u16> {
    let mut ports: Vec<_> = (0..300).map(|_| go(endpoints, request).unwrap()).collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

fn miss_of(reason: &str, count: usize) -> NoInstanceReason {
    NoInstanceReason::RouteMiss { rule: Some("gray".to_owned()), label: reason.to_owned(), count }
}

fn fail(endpoints: &Endpoints, port: u16) {
    loop {
        let picked = endpoints.pick(&mut PickContext::new().for_request(RequestHead::from(&asking("v2")))).unwrap();
        assert_eq!(picked.instance().port(), port);
        picked.finish(Outcome::ServerFailure { latency: Duration::from_millis(1) });
        let is_ejected = |one: &Arc<Endpoint>| {
            one.instance().port() == port && matches!(one.ejection(), crate::EjectionState::Ejected { .. })
        };
        if endpoints.all().iter().any(is_ejected) {
            return;
        }
    }
}

#[test]
fn sc11_a_request_for_v2_goes_to_v2_only_and_any_other_one_never_does_whatever_the_weights() {
    let endpoints = routed(settings(), &gray(Miss::Fail));
    endpoints.apply(&list(1, [of(1, "v1"), instance(2), of(21, "v2").weight(100.0), of(22, "v2").weight(100.0)]));
    assert_eq!(go_often(&endpoints, &asking("v2")), [21, 22]);
    for other in [plain(), asking("v1"), asking("v3"), asking("V2"), asking("")] {
        assert_eq!(go_often(&endpoints, &other), [1, 2], "{other:?}");
    }
    assert_eq!(picked_ports(&endpoints), [1, 2], "nothing is known of the request");
    assert_eq!((ports(&endpoints.preferred()), ports(&endpoints.all())), (vec![1, 2], vec![1, 2, 21, 22]));
}

#[test]
fn sc11_with_v2_gone_what_counts_is_the_miss_and_nothing_else() {
    let (fails, baseline, other) =
        [Miss::Fail, Miss::Baseline, Miss::Label(label("v3"))].map(|miss| routed(settings(), &gray(miss))).into();
    let all = [&fails, &baseline, &other];
    let both = || [of(1, "v1"), of(2, "v1"), of(31, "v3")];
    for endpoints in all {
        endpoints.apply(&list(1, both().into_iter().chain([of(21, "v2")])));
        assert_eq!(go_often(endpoints, &asking("v2")), [21]);
        endpoints.apply(&list(2, both()));
        assert_eq!(go_often(endpoints, &plain()), [1, 2], "others do not notice");
    }
    assert_eq!(go(&fails, &asking("v2")), Err(miss_of("version=v2", 3)));
    assert_eq!(go_often(&baseline, &asking("v2")), [1, 2]);
    assert_eq!(go_often(&other, &asking("v2")), [31]);
    for endpoints in all {
        endpoints.apply(&list(3, [of(41, "v4"), of(42, "v4")]));
        assert_eq!(go(endpoints, &asking("v2")), Err(miss_of("version=v2", 2)), "neither label nor miss has anybody");
        let reason = NoInstanceReason::RouteMiss { rule: None, label: "the baseline".to_owned(), count: 2 };
        assert_eq!(go(endpoints, &plain()), Err(reason));
        assert!(endpoints.all().is_empty());
        assert!(endpoints.verdicts().iter().all(|(_, verdict)| *verdict == Verdict::Unrouted));
        endpoints.apply(&list(4, []));
        assert_eq!(go(endpoints, &asking("v2")), Err(NoInstanceReason::NoneRegistered), "that says more");
        endpoints.apply(&list(5, both().into_iter().chain([of(21, "v2")])));
        assert_eq!(go_often(endpoints, &asking("v2")), [21], "it is back");
    }
}

#[test]
fn sc11_a_v2_that_takes_no_requests_is_as_good_as_gone() {
    let endpoints = routed(settings(), &gray(Miss::Fail));
    let sick = [of(21, "v2").weight(0.0), of(22, "v2").enabled(false), of(23, "v2").healthy(false)];
    endpoints.apply(&list(1, [of(1, "v1")].into_iter().chain(sick.clone())));
    assert_eq!(go(&endpoints, &asking("v2")), Err(miss_of("version=v2", 1)));
    let baseline = routed(settings(), &gray(Miss::Baseline));
    baseline.apply(&list(1, [of(1, "v1")].into_iter().chain(sick)));
    assert_eq!(go_often(&baseline, &asking("v2")), [1], "weight 0 is drained here, too");
}

#[tokio::test(start_paused = true)]
async fn sc11_requests_for_v2_whose_instances_are_all_ejected_go_where_the_miss_says_until_a_probe() {
    let (fails, baseline) = (routed(settings(), &gray(Miss::Fail)), routed(settings(), &gray(Miss::Baseline)));
    for endpoints in [&fails, &baseline] {
        endpoints.apply(&list(1, [of(1, "v1"), of(2, "v1"), of(21, "v2")]));
        fail(endpoints, 21);
    }
    assert_eq!(go(&fails, &asking("v2")), Err(NoInstanceReason::AllEjected));
    assert_eq!(go_often(&baseline, &asking("v2")), [1, 2]);
    assert_eq!(go_often(&fails, &plain()), [1, 2]);
    tokio::time::advance(Duration::from_secs(3600)).await;
    assert_eq!(go(&baseline, &plain()).map(|port| port < 10), Ok(true), "who is not for v2 does not probe it");
    let probe = baseline.pick(&mut PickContext::new().for_request(RequestHead::from(&asking("v2")))).unwrap();
    assert_eq!(probe.instance().port(), 21);
    assert_eq!(go_often(&baseline, &asking("v2")), [1, 2], "one request finds out");
    probe.finish(Outcome::Success { latency: Duration::from_millis(1) });
    assert_eq!(go_often(&baseline, &asking("v2")), [21]);
}

#[test]
fn sc11_a_retry_stays_within_the_label_then_takes_the_miss() {
    for (miss, then) in [(Miss::Fail, vec![]), (Miss::Baseline, vec![1, 2])] {
        let endpoints = routed(settings(), &gray(miss));
        endpoints.apply(&list(1, [of(1, "v1"), of(2, "v1"), of(21, "v2"), of(22, "v2"), of(31, "v3")]));
        let (request, tried) = (asking("v2"), Tried::new());
        let mut order = Vec::new();
        while endpoints.has_untried(&tried, RequestHead::from(&request)) {
            let cx = PickContext::new().for_request(RequestHead::from(&request)).drawn(tried.draw());
            let picked = tried.with_nodes(|nodes| endpoints.pick(&mut cx.without(nodes))).unwrap();
            tried.add(picked.endpoint());
            order.push(picked.instance().port());
        }
        let (first, rest) = order.split_at_mut(2);
        first.sort_unstable();
        rest.sort_unstable();
        assert_eq!((&*first, &*rest), (&[21, 22][..], &*then));
        let cx = PickContext::new().for_request(RequestHead::from(&request));
        let none = tried.with_nodes(|nodes| endpoints.pick(&mut cx.without(nodes)).unwrap_err());
        assert_eq!(none.reason, NoInstanceReason::AllTried { count: order.len() });
    }
}

/// Nine tenths go to the baseline.
fn canary() -> RouteRules {
    let rule = Rule::new("canary").share(10.0, label("v2")).share(90.0, Destination::Baseline);
    RouteRules::new().with_baseline(label("v1")).with_rule(rule.sticky_by(Subject::header("x-user")))
}

#[test]
fn sc12_a_tenth_of_the_requests_goes_to_v2_whatever_the_weights() {
    let endpoints = routed(settings(), &canary());
    endpoints.apply(&list(1, [of(1, "v1").weight(0.01), of(2, "v1"), of(21, "v2").weight(10_000.0)]));
    let mut rng = fastrand::Rng::with_seed(20_261_130);
    let request = plain();
    let mut canaries = 0;
    for _ in 0..100_000 {
        let mut cx = PickContext::new().seeded(&mut rng).for_request(RequestHead::from(&request));
        canaries += u32::from(endpoints.pick(&mut cx).unwrap().instance().port() > 20);
    }
    // 5 σ of a tenth of 100 000 are 475.
    assert!((9_525..=10_475).contains(&canaries), "{canaries}");
}

#[test]
fn sc12_the_same_key_stays_on_its_side_while_lists_and_ejections_of_others_come_and_go() {
    let endpoints = routed(settings(), &canary());
    let request = |user: u32| Request::get("/").header("x-user", format!("user-{user}")).body(()).unwrap();
    let sides = || (0..10_000).map(|user| go(&endpoints, &request(user)).unwrap() > 20).collect::<Vec<_>>();
    endpoints.apply(&list(1, [of(1, "v1"), of(2, "v1"), of(21, "v2")]));
    let before = sides();
    let canaries = before.iter().filter(|side| **side).count();
    // 5 σ of a tenth of 10 000 are 150.
    assert!((850..=1_150).contains(&canaries), "{canaries}");
    assert_eq!(before, sides(), "while membership is unchanged");
    endpoints.apply(&list(2, (1..=9).map(|port| of(port, "v1")).chain([of(22, "v2"), of(23, "v2")])));
    assert_eq!(before, sides(), "sides do not depend on who is there, as long as somebody is");
}

#[test]
fn sc12_a_request_keeps_its_draw_over_all_attempts_and_over_new_rules() {
    let endpoints = routed(settings(), &canary());
    endpoints.apply(&list(1, (1..=4).map(|port| of(port, "v1")).chain((21..=24).map(|port| of(port, "v2")))));
    let request = plain();
    for _ in 0..500 {
        let tried = Tried::new();
        let mut sides = Vec::new();
        for attempt in 0..4 {
            if attempt == 2 {
                endpoints.set_rules(Some(&canary())).unwrap();
            }
            let cx = PickContext::new().for_request(RequestHead::from(&request)).drawn(tried.draw());
            let picked = tried.with_nodes(|nodes| endpoints.pick(&mut cx.without(nodes))).unwrap();
            tried.add(picked.endpoint());
            sides.push(picked.instance().port() > 20);
        }
        assert!(sides.iter().all(|side| *side == sides[0]), "{sides:?}");
        assert_eq!(tried.anew().draw(), tried.draw(), "another round is of the same request");
    }
}

#[test]
fn a_label_from_the_request_finds_whoever_has_it_and_nothing_is_made_for_one_that_nobody_has() {
    let rule = |miss| {
        let from = Destination::LabelFrom { key: "version".to_owned(), subject: Subject::header("x-version") };
        Rule::new("gray").when_header("x-version", Test::Present).to(from).or(miss)
    };
    let rules = |miss| RouteRules::new().with_baseline(label("v1")).with_rule(rule(miss));
    let endpoints = routed(settings(), &rules(Miss::Fail));
    endpoints.apply(&list(1, [of(1, "v1"), instance(2), of(21, "v2"), of(31, "v3")]));
    for (version, expected) in [("v1", vec![1]), ("v2", vec![21]), ("v3", vec![31])] {
        assert_eq!(go_often(&endpoints, &asking(version)), expected);
    }
    assert_eq!(go(&endpoints, &asking("v4")), Err(miss_of("version=v4", 4)));
    assert_eq!(go_often(&endpoints, &plain()), [1, 2]);
    endpoints.set_rules(Some(&rules(Miss::Baseline))).unwrap();
    assert_eq!(go_often(&endpoints, &asking("v4")), [1, 2]);
    endpoints.apply(&list(2, [of(1, "v1"), of(41, "v4")]));
    assert_eq!(go_often(&endpoints, &asking("v4")), [41], "a value that is new in a list is found");
}

#[test]
fn neither_cluster_nor_zone_nor_subset_hides_the_only_v2() {
    let rules = gray(Miss::Fail);
    let home = |port| of(port, "v1").cluster("A").metadata("zone", "z1");
    let away = || of(21, "v2").cluster("B").metadata("zone", "z2");
    let near = settings().with_own_cluster("A").with_zone("z1");
    let endpoints = routed(near, &rules);
    endpoints.apply(&list(1, [home(1), home(2), home(3).cluster("B"), away(), away().cluster("A")]));
    assert_eq!(go_often(&endpoints, &plain()), [1, 2]);
    let of_cluster = |request: &Request<()>| {
        let picked = endpoints.pick(&mut PickContext::new().for_request(RequestHead::from(request))).unwrap();
        picked.instance().cluster().to_owned()
    };
    assert_eq!(of_cluster(&asking("v2")), "A", "preferred within the label");
    endpoints.apply(&list(2, [home(1), home(2), away()]));
    assert_eq!(go_often(&endpoints, &asking("v2")), [21]);

    let endpoints = routed(settings().with_subset(Some(Subset::new("me").with_size(3))), &rules);
    endpoints.apply(&list(1, (1..=30).map(|port| of(port, "v1")).chain([of(99, "v2")])));
    assert_eq!(go_often(&endpoints, &asking("v2")), [99]);
    assert_eq!(go_often(&endpoints, &plain()).len(), 3, "of each label so many");
    let eligible = endpoints.verdicts().iter().filter(|(_, verdict)| verdict.is_eligible()).count();
    assert_eq!((eligible, endpoints.all().len()), (4, 4));
}

#[test]
fn spillover_is_measured_within_the_label() {
    let home = |port, healthy| of(port, "v2").cluster("A").healthy(healthy);
    let endpoints = routed(settings().with_own_cluster("A").with_cluster_spillover(Some(1.0)), &gray(Miss::Fail));
    let baseline = (1..=50).map(|port| of(port, "v1").cluster("A"));
    endpoints.apply(&list(1, baseline.chain([home(101, true), home(102, false), of(103, "v2").cluster("B")])));
    let request = asking("v2");
    let mut rng = fastrand::Rng::with_seed(7);
    let mut away = 0;
    for _ in 0..10_000 {
        let mut cx = PickContext::new().seeded(&mut rng).for_request(RequestHead::from(&request));
        away += u32::from(endpoints.pick(&mut cx).unwrap().instance().port() == 103);
    }
    // Half of what is registered at home is usable; 5 σ of 10 000 halves are 250.
    assert!((4_750..=5_250).contains(&away), "{away}");
}

#[test]
fn a_filter_is_asked_within_the_label() {
    #[derive(Debug)]
    struct Even;
    impl Filter for Even {
        fn name(&self) -> &str {
            "even"
        }
        fn keep(&self, instance: &ServiceInstance) -> bool {
            instance.port().is_multiple_of(2)
        }
        fn on_empty(&self) -> OnEmpty {
            OnEmpty::KeepEmpty
        }
    }
    let endpoints = routed(settings().with_filter(Even), &gray(Miss::Fail));
    endpoints.apply(&list(1, [of(1, "v1"), of(2, "v1"), of(21, "v2")]));
    assert_eq!(go_often(&endpoints, &plain()), [2]);
    let filtered = NoInstanceReason::Filtered { filter: "even".to_owned(), count: 1 };
    assert_eq!(go(&endpoints, &asking("v2")), Err(filtered));
}

#[test]
fn new_rules_leave_calls_ejections_and_endpoints_alone_and_equal_groups_share_a_table() {
    let endpoints = routed(settings().with_policy(RoundRobin::default()), &gray(Miss::Fail));
    endpoints.apply(&list(1, [of(1, "v1"), of(2, "v1"), of(21, "v2"), of(22, "v2")]));
    let call = endpoints.pick(&mut PickContext::new().for_request(RequestHead::from(&asking("v2")))).unwrap();
    let before = endpoints.all();
    endpoints.set_rules(Some(&canary())).unwrap();
    let after = endpoints.all();
    assert!(before.iter().zip(&after).all(|(before, after)| Arc::ptr_eq(before, after)));
    assert_eq!(after.iter().map(|one| one.in_flight()).sum::<u32>(), 1);
    drop(call);
    endpoints.set_rules(None).unwrap();
    assert_eq!(picked_ports(&endpoints), [1, 2, 21, 22], "without rules everybody takes requests");
    assert!(endpoints.all().iter().all(|one| one.in_flight() == 0));
    assert_eq!(endpoints.list_status().unwrap().revision(), 1);
}

#[test]
fn rules_that_cannot_be_used_leave_those_before() {
    let endpoints = routed(settings(), &gray(Miss::Fail));
    endpoints.apply(&list(1, [of(1, "v1"), of(21, "v2")]));
    let broken = RouteRules::new().with_rule(Rule::new("half").share(50.0, Destination::Baseline));
    assert!(endpoints.set_rules(Some(&broken)).is_err());
    assert_eq!(go_often(&endpoints, &asking("v2")), [21]);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_must_not_be_used_is_not_used_because_of_new_rules() {
    let settings = settings().with_max_stale(Some(Duration::from_secs(30)));
    let endpoints = endpoints(settings);
    let lost = tokio::time::Instant::now();
    endpoints.apply(&list(1, [of(1, "v1"), of(21, "v2")]).stale_since(lost));
    tokio::time::advance(Duration::from_secs(31)).await;
    endpoints.refresh(tokio::time::Instant::now());
    endpoints.set_rules(Some(&gray(Miss::Fail))).unwrap();
    assert_eq!(go(&endpoints, &asking("v2")), Err(NoInstanceReason::Stale { age: lost.elapsed() }));
    endpoints.apply(&list(2, [of(1, "v1"), of(21, "v2")]));
    assert_eq!(go(&endpoints, &asking("v2")), Ok(21));
    endpoints.close();
    endpoints.set_rules(Some(&canary())).unwrap();
    assert_eq!(go(&endpoints, &asking("v2")), Err(NoInstanceReason::Closed));
    endpoints.set_rules(None).unwrap();
    assert_eq!(go(&endpoints, &asking("v2")), Err(NoInstanceReason::Closed));
}
