//! What becomes of lists, and what survives them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use tokio::time::advance;

use super::*;
use crate::pick::{Policy, Table, Verdict, WeightedRandom};
use crate::{Applied, Filter, Member, NoAddress, OnEmpty, Ports, Target};

/// Counts the tables that it makes.
#[derive(Debug, Default, Clone)]
struct Counting(Arc<AtomicUsize>);

impl Policy for Counting {
    fn table(&self, members: &[Member], seed: u64) -> Box<dyn Table> {
        self.0.fetch_add(1, Ordering::Relaxed);
        WeightedRandom::default().table(members, seed)
    }
}

#[test]
fn a_list_of_equal_content_takes_over_its_revision_and_marks_and_makes_no_table() {
    let tables = Counting::default();
    let endpoints = endpoints(settings().with_policy(tables.clone()));
    assert_eq!(endpoints.apply(&list(1, [instance(1), instance(2)])), Applied::Replaced);
    let before = endpoints.all();
    let again = list(2, [instance(2), instance(1)]).protected();
    assert_eq!(endpoints.apply(&again), Applied::Unchanged);
    assert!(before.iter().zip(endpoints.all()).all(|(before, after)| Arc::ptr_eq(before, &after)));
    let status = endpoints.list_status().unwrap();
    assert_eq!((status.revision(), status.is_protected()), (2, true));
    assert_eq!(tables.0.load(Ordering::Relaxed), 1);
    assert_eq!(endpoints.apply(&list(3, [instance(1)])), Applied::Replaced);
    assert_eq!(tables.0.load(Ordering::Relaxed), 2);
}

#[test]
fn sc07_what_changes_of_an_instance_leaves_its_calls_and_the_others_alone() {
    let endpoints = endpoints(settings());
    endpoints.apply(&list(1, [instance(1), instance(2)]));
    let call = endpoints.pick(&mut PickContext::new()).unwrap();
    let other = |port: u16| 3 - port;
    let port = call.instance().port();
    let before = endpoints.all();
    endpoints.apply(&list(2, [instance(port).weight(5.0), instance(other(port))]));
    let after = endpoints.all();
    let at = |list: &[Arc<Endpoint>], port| Arc::clone(list.iter().find(|one| one.instance().port() == port).unwrap());
    assert!(Arc::ptr_eq(&at(&before, other(port)), &at(&after, other(port))), "the other one is the same");
    let changed = at(&after, port);
    assert_eq!((changed.in_flight(), changed.instance().weight()), (1, 5.0));
    call.finish(Outcome::Success { latency: Duration::from_millis(3) });
    assert_eq!((changed.in_flight(), changed.latency()), (0, Some(Duration::from_millis(3))));
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_comes_back_within_a_minute_is_the_one_that_it_was() {
    let endpoints = endpoints(settings());
    endpoints.apply(&list(1, [instance(1), instance(2)]));
    let node = Arc::clone(endpoints.all()[0].node());
    endpoints.apply(&list(2, [instance(2)]));
    advance(Duration::from_secs(59)).await;
    endpoints.apply(&list(3, [instance(1), instance(2)]));
    assert!(Arc::ptr_eq(&node, endpoints.all()[0].node()));
    endpoints.apply(&list(4, [instance(2)]));
    advance(Duration::from_secs(60)).await;
    endpoints.apply(&list(5, [instance(1), instance(2)]));
    assert!(!Arc::ptr_eq(&node, endpoints.all()[0].node()), "it is another one by now");
}

#[test]
fn b15_an_address_in_another_cluster_or_service_is_another_instance() {
    let endpoints = endpoints(settings());
    let both = [instance(1).cluster("a"), instance(1).cluster("b")];
    endpoints.apply(&list(1, both));
    let all = endpoints.all();
    assert_eq!(all.len(), 2);
    assert!(!Arc::ptr_eq(all[0].node(), all[1].node()));
    let other = Endpoints::new(ServiceKey::new("", "payments"), Arc::new(settings()));
    other.apply(&list(1, [instance(1).cluster("a")]));
    assert!(!Arc::ptr_eq(all[0].node(), other.all()[0].node()));
    assert_ne!(all[0].instance(), other.all()[0].instance());
}

#[test]
fn b15_a_new_instance_at_an_old_address_has_its_own_metadata_and_scheme() {
    let endpoints = endpoints(settings().with_ports(Ports::metadata("gRPC_port")));
    endpoints.apply(&list(1, [instance(1).metadata("version", "1")]));
    let mut next = instance(1).metadata("version", "2").metadata("secure", "true").metadata("gRPC_port", "9090");
    next.instance_id = Some("next".to_owned());
    endpoints.apply(&list(2, [next]));
    let one = endpoints.pick(&mut PickContext::new()).unwrap();
    assert_eq!(*one.target(), Target::new(http::uri::Scheme::HTTPS, "10.0.0.1:9090".parse().unwrap()));
    assert_eq!(one.instance().registered_metadata()["version"], "2");
    assert_eq!(one.instance().instance_id(), Some("next"));
}

#[test]
fn an_instance_that_has_only_a_new_id_has_it() {
    let endpoints = endpoints(settings());
    for id in ["first", "second"] {
        let mut one = instance(1);
        one.instance_id = Some(id.to_owned());
        endpoints.apply(&list(1, [one]));
        assert_eq!(endpoints.all()[0].instance().instance_id(), Some(id));
    }
}

#[test]
fn of_two_rows_of_one_identity_the_first_stays() {
    let endpoints = endpoints(settings());
    endpoints.apply(&list(1, [instance(2), instance(1).weight(7.0), instance(1).weight(3.0)]));
    assert_eq!(endpoints.all()[0].instance().weight(), 7.0);
    assert_eq!(ports(&endpoints.all()), [1, 2]);
}

#[test]
fn why_there_is_no_instance_is_the_rule_that_left_none() {
    #[derive(Debug)]
    struct Nobody;
    impl Filter for Nobody {
        fn name(&self) -> &str {
            "nobody"
        }
        fn keep(&self, _: &ServiceInstance) -> bool {
            false
        }
        fn on_empty(&self) -> OnEmpty {
            OnEmpty::KeepEmpty
        }
    }
    use crate::ServiceInstance;
    let endpoints = endpoints(settings().with_filter(Nobody));
    assert_eq!(reason(&endpoints), NoInstanceReason::Unknown { waited: Duration::from_secs(5) });
    let disabled = || instance(1).enabled(false);
    let drained = || instance(2).weight(0.0);
    let unhealthy = || instance(3).healthy(false);
    let foreign = || Instance::new(("2001:db8::1", 4));
    for (revision, (instances, expected)) in [
        (vec![], NoInstanceReason::NoneRegistered),
        (vec![disabled(), drained()], NoInstanceReason::AllDrained { count: 2 }),
        (vec![disabled(), drained(), unhealthy()], NoInstanceReason::AllUnhealthy { count: 1 }),
        (vec![drained(), unhealthy(), foreign()], NoInstanceReason::NoUsableAddress { count: 1 }),
        (vec![drained(), foreign(), instance(5)], NoInstanceReason::Filtered { filter: "nobody".into(), count: 1 }),
    ]
    .into_iter()
    .enumerate()
    {
        endpoints.apply(&list(revision as u64, instances));
        assert_eq!(reason(&endpoints), expected);
    }
    endpoints.apply(&list(9, [disabled(), drained(), unhealthy(), foreign(), instance(5)]));
    let verdicts: Vec<_> =
        endpoints.verdicts().into_iter().map(|(instance, verdict)| (instance.port(), verdict)).collect();
    let expected = [
        (1, Verdict::Disabled),
        (2, Verdict::Drained),
        (3, Verdict::Unhealthy),
        (5, Verdict::Filtered { filter: "nobody".into() }),
        (4, Verdict::NoUsableAddress(NoAddress::Family)),
    ];
    assert_eq!(verdicts, expected);
}

#[test]
fn unhealthy_instances_are_used_only_if_asked_for_and_only_while_all_are() {
    let strict = endpoints(settings());
    let lenient = endpoints(settings().with_unhealthy_if_all_are());
    let sick = || [instance(1).healthy(false), instance(2).healthy(false).weight(0.0)];
    for endpoints in [&strict, &lenient] {
        endpoints.apply(&list(1, sick()));
    }
    assert_eq!(reason(&strict), NoInstanceReason::AllUnhealthy { count: 1 });
    assert_eq!(picked_ports(&lenient), [1], "never the drained one");
    lenient.apply(&list(2, sick().into_iter().chain([instance(3)])));
    assert_eq!(picked_ports(&lenient), [3]);
}

#[test]
fn sc04_odd_weights_are_counted_once_and_take_the_share_that_the_client_gives_them() {
    let endpoints = endpoints(settings());
    let odd =
        [f64::NAN, f64::INFINITY, -1.0, 1e308].into_iter().zip(1..).map(|(weight, port)| instance(port).weight(weight));
    let odd: Vec<_> = odd.chain([instance(9).weight(10_000.0)]).collect();
    endpoints.apply(&list(1, odd.clone()));
    assert_eq!(endpoints.odd_weights(), 4);
    endpoints.apply(&list(2, odd.into_iter().chain([instance(10).weight(0.0)])));
    assert_eq!(endpoints.odd_weights(), 4, "they were counted already");
    let weights: Vec<_> =
        endpoints.verdicts().into_iter().map(|(one, verdict)| (one.port(), verdict.is_eligible())).collect();
    assert_eq!(weights, [(1, false), (2, true), (3, false), (4, true), (9, true), (10, false)]);
    let counts = picks(&endpoints, 30_000);
    assert!(counts.values().all(|count| (9_592..=10_408).contains(count)), "5 σ of a third: {counts:?}");
}

proptest! {
    #[test]
    fn sc06_any_order_of_lists_leaves_the_newest(order in Just((1..=12u64).collect::<Vec<_>>()).prop_shuffle()) {
        let endpoints = endpoints(settings());
        let mut newest = 0;
        for revision in order {
            let applied = endpoints.apply(&list(revision, (1..=revision as u16).map(instance)));
            prop_assert_eq!(applied == Applied::Outdated, revision < newest);
            newest = newest.max(revision);
            prop_assert_eq!(endpoints.all().len() as u64, newest);
        }
        prop_assert_eq!(endpoints.list_status().unwrap().revision(), 12);
    }
}
