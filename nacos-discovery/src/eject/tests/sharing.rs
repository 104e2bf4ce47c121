use super::*;
use crate::{EjectionState, NoInstanceReason};

fn ejected(service: &Service) -> Vec<u16> {
    let all = service.endpoints.all();
    let out = all.iter().filter(|endpoint| !matches!(endpoint.ejection(), EjectionState::Healthy { .. }));
    out.map(|endpoint| endpoint.instance().port()).collect()
}

#[tokio::test(start_paused = true)]
async fn sc16_a_lone_instance_is_never_ejected() {
    let mut service = Service::ejecting([1]);
    (0..1_000).for_each(|_| service.call(1, BAD));
    assert_eq!(service.endpoint(1).ejection(), EjectionState::Healthy { failures: 1_000 });
    // One more, and the next failure is one too many.
    service.list([1, 2]);
    service.call(1, BAD);
    assert_eq!(ejected(&service), [1]);
}

#[tokio::test(start_paused = true)]
async fn sc16_no_more_than_the_share_are_ejected_and_the_next_one_when_there_is_room() {
    let mut service = Service::ejecting([1, 2, 3, 4, 5]);
    service.fail(1);
    service.fail(2);
    service.fail(3);
    assert_eq!(ejected(&service), [1, 2]);
    pass(2.0).await;
    service.call(1, GOOD);
    service.call(3, BAD);
    assert_eq!(ejected(&service), [2, 3]);
}

#[tokio::test(start_paused = true)]
async fn sc16_when_too_few_are_left_the_least_bad_come_back() {
    let mut service = Service::ejecting([1, 2, 3, 4, 5, 6]);
    service.fail(1);
    pass(2.0).await;
    // 1 fails its probe, so that it is worse than the others.
    service.call(1, BAD);
    service.fail(2);
    service.fail(3);
    assert_eq!(ejected(&service), [1, 2, 3]);
    service.list([1, 2, 3, 4]);
    assert_eq!(ejected(&service).len(), 2);
    assert!(ejected(&service).contains(&1));
    service.list([1, 2, 3]);
    assert_eq!(ejected(&service), [1]);
    service.list([1]);
    assert_eq!(ejected(&service), [0u16; 0]);
    assert_eq!(service.spread(100)[&1], 100);
    // Nothing reset: its next ejection is longer still.
    service.list([1, 2, 3]);
    service.fail(1);
    assert!(matches!(service.endpoint(1).ejection(), EjectionState::Ejected { relapses: 2, .. }));
}

#[tokio::test(start_paused = true)]
async fn sc16_a_probe_under_way_when_it_is_readmitted_counts_as_any_call() {
    let mut service = Service::ejecting([1, 2]);
    service.fail(1);
    pass(2.0).await;
    let probe = service.pick_port(1);
    service.list([1]);
    probe.finish(BAD);
    assert_eq!(service.endpoint(1).ejection(), EjectionState::Healthy { failures: 1 });
    assert_eq!(service.endpoint(1).in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn sc16_with_ejection_off_nobody_is_ejected() {
    let mut service = Service::new(ServiceSettings::default().with_ejection(None), [1, 2, 3, 4]);
    (1..=4).for_each(|port| (0..100).for_each(|_| service.call(port, BAD)));
    assert_eq!(ejected(&service), [0u16; 0]);
}

#[tokio::test(start_paused = true)]
async fn sc16_a_retry_goes_neither_to_an_ejected_instance_nor_to_one_that_was_tried() {
    let mut service = Service::ejecting([1, 2, 3]);
    service.fail(1);
    // The pause is over: a first request would probe it.
    pass(5.0).await;
    let tried = [Arc::clone(service.endpoint(2).node())];
    for _ in 0..1_000 {
        let mut cx = PickContext::new().seeded(&mut service.rng).without(&tried);
        let picked = service.endpoints.pick(&mut cx).unwrap();
        assert_eq!(picked.instance().port(), 3);
        picked.finish(GOOD);
    }
    let tried = [2, 3].map(|port| Arc::clone(service.endpoint(port).node()));
    let error = service.endpoints.pick(&mut PickContext::new().without(&tried)).unwrap_err();
    assert_eq!(error.reason, NoInstanceReason::AllTried { count: 2 });
    assert!(matches!(service.endpoint(1).ejection(), EjectionState::Ejected { .. }));
}

#[tokio::test(start_paused = true)]
async fn sc07_a_changed_weight_keeps_in_flight_estimate_and_ejection() {
    let mut service = Service::ejecting([1, 2, 3]);
    let held = service.pick_port(2);
    service.call(2, Outcome::Success { latency: Duration::from_millis(40) });
    service.fail(1);
    let before = [1, 2].map(|port| service.endpoint(port));
    let known = before.each_ref().map(|at| (at.in_flight(), at.latency(), at.ejection()));
    let heavier = [1, 2, 3].map(|port| Arc::new(Instance::new(("127.0.0.1", port)).weight(f64::from(port) + 1.0)));
    service.endpoints.apply(&ServiceList::new(100, heavier));
    let after = [1, 2].map(|port| service.endpoint(port));
    assert_eq!(after.each_ref().map(|at| (at.in_flight(), at.latency(), at.ejection())), known);
    assert_eq!(after[1].instance().weight(), 3.0);
    let latency = known[1].1.unwrap().as_secs_f64();
    assert!(known[1].0 == 1 && (latency - 0.04).abs() < 1e-6, "{latency}");
    drop(held);
    assert_eq!(after[1].in_flight(), 0, "the same count under the old list and the new one");
}

#[tokio::test(start_paused = true)]
async fn b08_who_leaves_the_list_and_comes_back_soon_is_as_ejected_as_before() {
    let mut service = Service::ejecting([1, 2, 3, 4]);
    service.fail(1);
    let before = service.endpoint(1).ejection();
    service.list([2, 3, 4]);
    // Who is away takes nobody's place among those that may be ejected.
    service.fail(2);
    assert_eq!(ejected(&service), [2]);
    service.list([1, 2, 3, 4]);
    assert_eq!((ejected(&service), service.endpoint(1).ejection()), (vec![1, 2], before));
    service.list([3, 4]);
    assert_eq!(service.spread(100).len(), 2);
    // With half of three it is one of the two that comes back.
    service.list([1, 2, 3]);
    assert_eq!(ejected(&service).len(), 1);
}
