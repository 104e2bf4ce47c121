use std::time::Duration;

use tokio::time::Instant;

use super::*;
use crate::EjectionState;
use crate::settings::FailureRate;

/// How long it is ejected from now on.
fn pause(service: &Service, port: u16) -> Duration {
    match service.endpoint(port).ejection() {
        EjectionState::Ejected { until, .. } => until - Instant::now(),
        state => panic!("{state:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn sc16_after_five_failures_it_gets_nothing_until_the_pause_ends_and_then_one_probe() {
    let mut service = Service::ejecting([1, 2, 3]);
    (0..4).for_each(|_| service.call(1, BAD));
    service.call(1, GOOD);
    service.fail(1);
    let first = pause(&service, 1);
    assert!((0.9..=1.1).contains(&first.as_secs_f64()), "{first:?}");
    assert!(!service.spread(10_000).contains_key(&1));
    advance(first - Duration::from_millis(1)).await;
    assert!(!service.spread(10_000).contains_key(&1), "a millisecond too early");
    advance(Duration::from_millis(2)).await;

    let probe = service.pick_port(1);
    assert!(matches!(service.endpoint(1).ejection(), EjectionState::Probing { relapses: 0 }));
    pass(59.0).await;
    assert!(!service.spread(10_000).contains_key(&1), "one probe at a time, as long as it may take");
    probe.finish(BAD);
    let second = pause(&service, 1);
    assert!(second >= 2 * first, "{first:?}, then {second:?}");

    advance(second + Duration::from_millis(2)).await;
    service.call(1, GOOD);
    assert_eq!(service.endpoint(1).ejection(), EjectionState::Healthy { failures: 0 });
    let share = service.spread(9_000)[&1];
    assert!((2_700..3_300).contains(&share), "{share}");
}

#[tokio::test(start_paused = true)]
async fn b08_a_probe_that_is_never_answered_keeps_nobody_out_for_ever() {
    let mut service = Service::ejecting([1, 2]);
    service.fail(1);
    pass(2.0).await;
    let hung = service.pick_port(1);
    pass(61.0).await;
    assert!(!service.spread(1_000).contains_key(&1), "the request that finds it overdue goes elsewhere");
    let relapsed = service.endpoint(1).ejection();
    assert!(matches!(relapsed, EjectionState::Ejected { relapses: 1, .. }), "{relapsed:?}");
    hung.finish(GOOD);
    assert_eq!(service.endpoint(1).ejection(), relapsed, "its late answer says nothing");

    let length = pause(&service, 1);
    advance(length + Duration::from_millis(2)).await;
    service.call(1, GOOD);
    assert_eq!(service.endpoint(1).ejection(), EjectionState::Healthy { failures: 0 });
    assert_eq!(service.endpoint(1).in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn sc16_a_probe_that_is_given_up_frees_its_place_and_changes_nothing_else() {
    let mut service = Service::ejecting([1, 2]);
    service.fail(1);
    pass(2.0).await;
    for _ in 0..3 {
        drop(service.pick_port(1));
    }
    assert!(matches!(service.endpoint(1).ejection(), EjectionState::Ejected { relapses: 0, .. }));
    service.call(1, GOOD);
    assert_eq!(service.endpoint(1).ejection(), EjectionState::Healthy { failures: 0 });
}

#[tokio::test(start_paused = true)]
async fn sc16_what_began_before_an_ejection_counts_neither_while_it_lasts_nor_after() {
    let mut service = Service::ejecting([1, 2]);
    let early: Vec<_> = (0..20).map(|_| service.pick_port(1)).collect();
    service.fail(1);
    let mut early = early.into_iter();
    early.by_ref().take(5).for_each(|picked| picked.finish(GOOD));
    assert!(matches!(service.endpoint(1).ejection(), EjectionState::Ejected { .. }));
    pass(2.0).await;
    let probe = service.pick_port(1);
    early.by_ref().take(5).for_each(|picked| picked.finish(GOOD));
    assert!(matches!(service.endpoint(1).ejection(), EjectionState::Probing { .. }));
    probe.finish(GOOD);
    early.for_each(|picked| picked.finish(BAD));
    assert_eq!(service.endpoint(1).ejection(), EjectionState::Healthy { failures: 0 });
    assert_eq!(service.endpoint(1).in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn sc16_too_much_to_do_is_no_failure_but_fails_a_probe() {
    let mut service = Service::ejecting([1, 2]);
    (0..4).for_each(|_| service.call(1, BAD));
    (0..100).for_each(|_| service.call(1, BUSY));
    assert_eq!(service.endpoint(1).ejection(), EjectionState::Healthy { failures: 4 });
    service.call(1, BAD);
    pass(2.0).await;
    service.call(1, BUSY);
    assert!(matches!(service.endpoint(1).ejection(), EjectionState::Ejected { relapses: 1, .. }));
}

#[tokio::test(start_paused = true)]
async fn sc16_half_of_the_calls_failing_ejects_where_a_rate_is_set() {
    let rate = FailureRate::new(0.4).with_minimum(20);
    let mut service = Service::with(EjectSettings::new().with_failure_rate(Some(rate)), [1, 2]);
    for _ in 0..9 {
        service.call(1, GOOD);
        service.call(1, BUSY);
    }
    // What is older than ten seconds does not count.
    pass(11.0).await;
    for call in 0..10 {
        assert_eq!(service.endpoint(1).ejection(), EjectionState::Healthy { failures: 0 }, "{call}");
        service.call(1, BAD);
        service.call(1, GOOD);
    }
    service.call(1, BUSY);
    assert!(matches!(service.endpoint(1).ejection(), EjectionState::Ejected { .. }));
    // Once it is back the window is empty.
    pass(2.0).await;
    service.call(1, GOOD);
    (0..3).for_each(|_| service.call(1, BAD));
    assert_eq!(service.endpoint(1).ejection(), EjectionState::Healthy { failures: 3 });
}

#[tokio::test(start_paused = true)]
async fn sc16_flapping_lengthens_the_pause_and_health_shortens_it() {
    let mut service = Service::ejecting([1, 2]);
    let mut lengths = vec![];
    for healthy in [0.0, 0.0, 0.0, 65.0, 600.0] {
        pass(healthy).await;
        service.fail(1);
        let length = pause(&service, 1);
        lengths.push(length.as_secs_f64().round() as u64);
        advance(length + Duration::from_millis(2)).await;
        service.call(1, GOOD);
    }
    assert_eq!(lengths, [1, 2, 4, 2, 1]);
}

#[tokio::test(start_paused = true)]
async fn b12_a_crashed_instance_costs_five_failures_and_its_removal_changes_nothing() {
    let mut service = Service::ejecting([1, 2, 3, 4, 5]);
    let mut failures = 0;
    for _ in 0..2_000 {
        let picked = service.pick().unwrap();
        let dead = picked.instance().port() == 1;
        failures += u32::from(dead);
        picked.finish(if dead { BAD } else { GOOD });
        advance(Duration::from_micros(450)).await;
    }
    assert_eq!(failures, 5, "within the first 0.9 s");
    // A minute later there was one probe after each pause: 1, 2, 4, 8, 16 and 32 s.
    for _ in 0..60_000 {
        let picked = service.pick().unwrap();
        let dead = picked.instance().port() == 1;
        failures += u32::from(dead);
        picked.finish(if dead { BAD } else { GOOD });
        advance(Duration::from_millis(1)).await;
    }
    assert!((9..=11).contains(&failures), "{failures}");

    service.list([2, 3, 4, 5]);
    let spread = service.spread(10_000);
    assert!(spread.len() == 4 && spread.values().all(|picks| (2_300..2_700).contains(picks)), "{spread:?}");
    // The share of four is two, whatever was ejected before.
    service.fail(2);
    service.fail(3);
    assert_eq!(service.spread(1_000).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn b08_lists_of_the_same_content_neither_end_nor_extend_an_ejection() {
    let mut service = Service::ejecting([1, 2, 3]);
    service.fail(1);
    let before = service.endpoint(1).ejection();
    let length = pause(&service, 1);
    for _ in 0..10 {
        pass(0.05).await;
        service.list([1, 2, 3]);
        assert_eq!(service.endpoint(1).ejection(), before);
        assert!(!service.spread(1_000).contains_key(&1));
    }
    advance(length).await;
    service.call(1, GOOD);
    service.list([1, 2, 3]);
    assert_eq!(service.endpoint(1).ejection(), EjectionState::Healthy { failures: 0 });
}

#[tokio::test(start_paused = true)]
async fn b08_after_an_outage_of_30_s_it_has_its_share_within_twice_the_outage() {
    let mut service = Service::ejecting([1, 2, 3]);
    let begin = Instant::now();
    let mut restored = None;
    while restored.is_none() {
        let picked = service.pick().unwrap();
        let down = picked.instance().port() == 1 && begin.elapsed() < Duration::from_secs(30);
        picked.finish(if down { BAD } else { GOOD });
        advance(Duration::from_millis(10)).await;
        let healthy = matches!(service.endpoint(1).ejection(), EjectionState::Healthy { failures: 0 });
        restored = (healthy && begin.elapsed() > Duration::from_secs(30)).then(|| begin.elapsed());
        assert!(begin.elapsed() < Duration::from_secs(70), "never restored");
    }
    let share = service.spread(3_000)[&1];
    assert!((850..1_150).contains(&share), "{share} after {restored:?}");
}

#[tokio::test(start_paused = true)]
async fn b07_failing_instances_look_slow_however_fast_they_fail() {
    for outcome in [BAD, BUSY, Outcome::ServerFailure { latency: Duration::from_micros(100) }] {
        let mut service = Service::new(ServiceSettings::default().with_ejection(None), [1, 2, 3]);
        (1..=3).for_each(|port| service.call(port, GOOD));
        service.call(1, outcome);
        pass(1.0).await;
        service.call(2, GOOD);
        let (bad, good) = (service.endpoint(1).cost(), service.endpoint(2).cost());
        assert!(bad > 50.0 * good, "{outcome:?}: {bad} and {good}");
        assert_eq!(service.endpoint(1).ejection(), EjectionState::Healthy { failures: 0 });
    }
    let mut service = Service::ejecting([1, 2]);
    service.call(1, Outcome::Overloaded { retry_after: Some(Duration::from_secs(7)) });
    assert_eq!(service.endpoint(1).latency(), Some(Duration::from_secs(7)));
}

#[tokio::test(start_paused = true)]
async fn sc16_a_probe_whose_answer_is_good_restores_however_long_the_rest_takes() {
    let mut service = Service::ejecting([1, 2]);
    let early = service.pick_port(1);
    service.fail(1);
    early.answered();
    assert!(matches!(service.endpoint(1).ejection(), EjectionState::Ejected { .. }), "it began before the ejection");
    pass(2.0).await;
    let probe = service.pick_port(1);
    early.answered();
    assert!(matches!(service.endpoint(1).ejection(), EjectionState::Probing { .. }));
    probe.answered();
    assert_eq!(service.endpoint(1).ejection(), EjectionState::Healthy { failures: 0 });
    service.call(1, BAD);
    probe.answered();
    assert_eq!(service.endpoint(1).ejection(), EjectionState::Healthy { failures: 1 }, "only a probe is judged by it");
    probe.finish(BAD);
    assert_eq!(service.endpoint(1).ejection(), EjectionState::Healthy { failures: 2 });
}
