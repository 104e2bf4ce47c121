use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt;

use super::*;
use crate::config::{ClientConfig, EmptyPolicy};
use crate::model::{ChangeCause, Select, ServiceChange};
use crate::naming::Subscription;
use crate::naming::mock::Fate;

/// A client that believes every list, so that tests of other things need not wait for the hold of young connections.
async fn believing(mock: &Mock) -> NamingService {
    let config = ClientConfig::builder().servers(["mock"]).empty_policy(EmptyPolicy::Accept).build().unwrap();
    let nacos = mock.client_with(config);
    start(&nacos).await;
    mock.connect();
    nacos
}

async fn next(subscription: &mut Subscription) -> ServiceChange {
    timeout(100 * SECOND, subscription.next()).await.expect("in time").expect("not closed")
}

fn ports(change: &ServiceChange) -> Vec<u16> {
    change.instances().iter().map(|i| i.port).collect()
}

/// Added, removed and modified ports.
fn difference(change: &ServiceChange) -> (Vec<u16>, Vec<u16>, Vec<u16>) {
    let ports = |list: &[Arc<Instance>]| list.iter().map(|i| i.port).collect();
    let modified = change.modified().iter().map(|m| m.new.port).collect();
    (ports(change.added()), ports(change.removed()), modified)
}

#[tokio::test(start_paused = true)]
async fn cg27_every_listener_gets_exactly_one_initial_snapshot_also_of_an_empty_service() {
    let mock = mock();
    let nacos = believing(&mock).await;
    let service = nacos.service("s").unwrap();
    let mut first = service.subscribe(Select::all());
    let change = next(&mut first).await;
    assert_eq!((change.cause(), ports(&change)), (ChangeCause::Initial, vec![]));
    assert!(first.next().now_or_never().is_none(), "one only");
    mock.set_foreign(&key("s"), &[1], false);
    let mut later = service.subscribe(Select::all());
    let change = later.next().now_or_never().flatten().expect("cached, so at once");
    assert_eq!((change.cause(), difference(&change)), (ChangeCause::Initial, (vec![1], vec![], vec![])));
    assert_eq!(difference(&next(&mut first).await), (vec![1], vec![], vec![]));
    assert!(later.next().now_or_never().is_none());
    assert_eq!(mock.subscribers(&key("s")), 1);
}

#[tokio::test(start_paused = true)]
async fn g05_changes_around_the_subscription_are_never_missed() {
    for (seed, delay) in (0..40).map(|n| (n, n / 4)) {
        let mock = Mock::new(seed, 10 * MS, Dialect::Replacing);
        let nacos = believing(&mock).await;
        mock.set_foreign(&key("s"), &[1], false);
        let mut subscription = nacos.service("s").unwrap().subscribe(Select::all());
        let changing = async {
            tokio::time::sleep(delay as u32 * MS).await;
            mock.set_foreign(&key("s"), &[1, 2], false);
        };
        let seen = async {
            loop {
                if ports(&next(&mut subscription).await) == [1, 2] {
                    return;
                }
            }
        };
        tokio::join!(changing, seen);
    }
}

#[tokio::test(start_paused = true)]
async fn cg29_the_difference_is_that_of_the_selected_view() {
    let mock = mock();
    let nacos = believing(&mock).await;
    let up = |port| Instance::new(("f", port));
    mock.set_foreign_instances(&key("s"), vec![up(1), up(2).healthy(false), up(3).cluster("b")]);
    let mut healthy = nacos.service("s").unwrap().subscribe(Select::healthy().clusters(["DEFAULT"]));
    assert_eq!(difference(&next(&mut healthy).await), (vec![1], vec![], vec![]));
    mock.set_foreign_instances(&key("s"), vec![up(1).healthy(false), up(2), up(3).cluster("b")]);
    assert_eq!(difference(&next(&mut healthy).await), (vec![2], vec![1], vec![]), "left and entered the selection");
    mock.set_foreign_instances(&key("s"), vec![up(2), up(3).cluster("b").weight(5.0)]);
    assert!(healthy.next().now_or_never().is_none(), "nothing of what is selected changed");
    mock.set_foreign_instances(&key("s"), vec![up(2).metadata("k", "v"), up(3)]);
    let change = next(&mut healthy).await;
    assert_eq!(difference(&change), (vec![3], vec![], vec![2]), "moved to the cluster, and metadata only");
    assert_eq!((change.modified()[0].old.metadata.len(), change.modified()[0].new.metadata.len()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn cg28_a_slow_listener_gets_one_merged_difference_to_the_newest_state() {
    let mock = mock();
    let nacos = believing(&mock).await;
    mock.set_foreign(&key("s"), &[1, 2], false);
    let mut slow = nacos.service("s").unwrap().subscribe(Select::all());
    let first = next(&mut slow).await;
    for n in 3..=1000u16 {
        mock.set_foreign(&key("s"), &[2, n], false);
    }
    let change = next(&mut slow).await;
    assert_eq!(difference(&change), (vec![1000], vec![1], vec![]));
    assert!(change.snapshot().revision() > first.snapshot().revision());
    assert!(slow.next().now_or_never().is_none());
}

#[tokio::test(start_paused = true)]
async fn cg36_a_push_with_equal_content_tells_nobody() {
    let mock = mock();
    let nacos = believing(&mock).await;
    mock.set_foreign(&key("s"), &[1, 2], false);
    let mut subscription = nacos.service("s").unwrap().subscribe(Select::all());
    next(&mut subscription).await;
    mock.set_foreign(&key("s"), &[2, 1], false);
    assert!(subscription.next().now_or_never().is_none());
    assert_eq!(nacos.stats().pushes_unchanged, 1);
}

#[tokio::test(start_paused = true)]
async fn t04_losing_the_connection_and_getting_it_back_is_told_even_if_nothing_changed() {
    let mock = mock();
    let nacos = connected(&mock).await;
    mock.set_foreign(&key("s"), &[1, 2], false);
    let mut subscription = nacos.service("s").unwrap().subscribe(Select::all());
    let first = next(&mut subscription).await;
    tokio::time::sleep(10 * SECOND).await;
    mock.disconnect();
    let stale = next(&mut subscription).await;
    assert!(matches!(stale.cause(), ChangeCause::Stale { .. }), "{:?}", stale.cause());
    assert_eq!(ports(&stale), [1, 2], "the last known list stays");
    assert!(nacos.service("s").unwrap().pick().is_ok());
    mock.connect();
    let back = next(&mut subscription).await;
    assert_eq!((back.cause(), difference(&back)), (ChangeCause::Resynced, (vec![], vec![], vec![])));
    let revisions = [&first, &stale, &back].map(|c| c.snapshot().revision());
    assert!(revisions.is_sorted_by(|a, b| a < b), "{revisions:?}");
    mock.disconnect();
    mock.set_foreign(&key("s"), &[1, 2, 3], false);
    mock.connect();
    until("caught up", || nacos.service("s").unwrap().try_snapshot().unwrap().is_some_and(|s| s.len() == 3)).await;
    let merged = next(&mut subscription).await;
    assert_eq!((merged.cause(), difference(&merged)), (ChangeCause::Resynced, (vec![3], vec![], vec![])));
}

#[tokio::test(start_paused = true)]
async fn f02_an_empty_list_of_a_server_that_just_started_is_held_and_then_decided_by_a_query() {
    let mock = mock();
    let nacos = connected(&mock).await;
    mock.set_foreign(&key("s"), &[1, 2, 3], false);
    let mut subscription = nacos.service("s").unwrap().subscribe(Select::all());
    next(&mut subscription).await;
    tokio::time::sleep(10 * SECOND).await;
    mock.disconnect();
    mock.set_foreign(&key("s"), &[], true);
    assert!(matches!(next(&mut subscription).await.cause(), ChangeCause::Stale { .. }));
    mock.connect();
    let begin = Instant::now();
    let resynced = next(&mut subscription).await;
    assert_eq!(ports(&resynced), [1, 2, 3]);
    assert_eq!(resynced.snapshot().held().map(|h| h.count), Some(3));
    assert!(nacos.service("s").unwrap().pick().is_ok(), "held instances are picked");
    let gone = next(&mut subscription).await;
    let after = begin.elapsed();
    assert_eq!(difference(&gone), (vec![], vec![1, 2, 3], vec![]), "announced when the hold ends");
    assert!(after >= 30 * SECOND && after < 31 * SECOND, "{after:?}");
    assert_eq!(nacos.stats().repairs, 0, "a decision is no repair");
}

#[tokio::test(start_paused = true)]
async fn f01_in_steady_state_the_last_instance_goes_at_once() {
    let mock = mock();
    let nacos = connected(&mock).await;
    mock.set_foreign(&key("s"), &[1], false);
    let mut subscription = nacos.service("s").unwrap().subscribe(Select::all());
    next(&mut subscription).await;
    tokio::time::sleep(6 * SECOND).await;
    mock.set_foreign(&key("s"), &[], false);
    let change = subscription.next().now_or_never().flatten().expect("at once");
    assert_eq!(difference(&change), (vec![], vec![1], vec![]));
}

#[tokio::test(start_paused = true)]
async fn cg30_removing_one_listener_changes_nothing_for_the_others() {
    let mock = mock();
    let nacos = believing(&mock).await;
    let service = nacos.service("s").unwrap();
    let mut kept = service.subscribe(Select::all());
    let dropped = service.subscribe(Select::healthy());
    next(&mut kept).await;
    mock.take_log();
    drop(dropped);
    tokio::time::sleep(SECOND).await;
    assert!(mock.take_log().is_empty(), "the server is told only at the last");
    mock.set_foreign(&key("s"), &[1], false);
    assert_eq!(ports(&next(&mut kept).await), [1]);
    drop(kept);
    until("unsubscribed", || mock.subscribers(&key("s")) == 0).await;
    assert!(nacos.subscribed_services().is_empty());
    assert_eq!(nacos.stats().services, 1, "the handle still has it");
    drop(service);
    until("forgotten", || nacos.stats().services == 0).await;
}

#[tokio::test(start_paused = true)]
async fn cg31_subscribing_again_while_unsubscribing_misses_nothing() {
    for seed in 0..100 {
        let mock = Mock::new(seed, 20 * MS, Dialect::Replacing);
        let nacos = believing(&mock).await;
        let service = nacos.service("s").unwrap();
        let mut first = service.subscribe(Select::all());
        next(&mut first).await;
        drop(first);
        tokio::time::sleep(mock.with_rng(|rng| MS * rng.u32(..30))).await;
        let mut second = service.subscribe(Select::all());
        if mock.with_rng(|rng| rng.bool()) {
            mock.disconnect();
            mock.connect();
        }
        tokio::time::sleep(mock.with_rng(|rng| MS * rng.u32(..30))).await;
        mock.set_foreign(&key("s"), &[seed as u16 + 1], false);
        let seen = async { while ports(&next(&mut second).await) != [seed as u16 + 1] {} };
        timeout(SECOND, seen).await.unwrap_or_else(|_| panic!("seed {seed}"));
    }
}

#[tokio::test(start_paused = true)]
async fn cg37_a_push_that_never_came_is_repaired_by_reconciliation_and_counted() {
    let mock = mock();
    let nacos = believing(&mock).await;
    let mut subscription = nacos.service("s").unwrap().subscribe(Select::all());
    next(&mut subscription).await;
    let begin = Instant::now();
    mock.set_foreign(&key("s"), &[1], true);
    assert_eq!(ports(&next(&mut subscription).await), [1]);
    assert!(begin.elapsed() <= 72 * SECOND, "{:?}", begin.elapsed());
    assert_eq!(nacos.stats().repairs, 1);
}

#[tokio::test(start_paused = true)]
async fn an_overtaken_push_leads_to_a_check_one_second_later() {
    let mock = mock();
    let nacos = believing(&mock).await;
    let mut subscription = nacos.service("s").unwrap().subscribe(Select::all());
    next(&mut subscription).await;
    mock.step_clock(5_000);
    mock.set_foreign(&key("s"), &[1], false);
    next(&mut subscription).await;
    mock.step_clock(-3_000);
    let begin = Instant::now();
    mock.set_foreign(&key("s"), &[2], false);
    assert_eq!(ports(&next(&mut subscription).await), [2]);
    let took = begin.elapsed();
    assert!(took >= SECOND && took < SECOND + 10 * MS, "{took:?}");
    assert_eq!(nacos.stats().pushes_overtaken, 1);
}

#[tokio::test(start_paused = true)]
async fn refresh_asks_now_and_says_what_changed() {
    let mock = mock();
    let nacos = believing(&mock).await;
    let service = nacos.service("s").unwrap();
    service.ready().await.unwrap();
    mock.set_foreign(&key("s"), &[1, 2], true);
    let change = service.refresh().await.unwrap();
    assert_eq!(difference(&change), (vec![1, 2], vec![], vec![]));
    mock.script(|_| Fate::Refuse(400));
    assert!(matches!(service.refresh().await, Err(crate::QueryError::Refused(_))));
    assert_eq!(service.snapshot().await.unwrap().len(), 2, "the cache keeps what it has");
}

#[tokio::test(start_paused = true)]
async fn a_watch_has_the_current_value_and_waits_for_the_next() {
    let mock = mock();
    let nacos = believing(&mock).await;
    let mut watch = nacos.service("s").unwrap().watch(Select::healthy());
    assert_eq!(watch.current(), None);
    watch.changed().await.unwrap();
    mock.set_foreign(&key("s"), &[1], false);
    assert_eq!(watch.current().map(|all| all.len()), Some(1));
    assert_eq!(watch.changed().await.unwrap().added().len(), 1);
    nacos.shutdown(SECOND).await;
    assert!(matches!(watch.changed().await, Err(crate::StartError::Closed)));
}

#[tokio::test(start_paused = true)]
async fn cg33_a_panicking_handler_is_counted_and_called_again() {
    let mock = mock();
    let nacos = believing(&mock).await;
    let service = nacos.service("s").unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&calls);
    let listener = service
        .on_change(Select::all(), move |change| {
            let calls = seen.fetch_add(1, Ordering::SeqCst) + 1;
            async move { assert!(calls != 1 && change.instances().len() != 2, "the test's own panic") }
        })
        .unwrap();
    let mut other = service.subscribe(Select::all());
    until("first call", || calls.load(Ordering::SeqCst) == 1).await;
    for n in 2..=4u16 {
        mock.set_foreign(&key("s"), &(1..n).collect::<Vec<_>>(), false);
        until("called", || calls.load(Ordering::SeqCst) == usize::from(n)).await;
    }
    assert_eq!(nacos.stats().listener_panics, 2);
    assert_eq!(ports(&next(&mut other).await), [1, 2, 3]);
    nacos.unsubscribe(listener).await;
}

#[tokio::test(start_paused = true)]
async fn cg32_a_handler_that_hangs_holds_nobody_up() {
    let mock = mock();
    let nacos = believing(&mock).await;
    let service = nacos.service("s").unwrap();
    let hanging = service.on_change(Select::all(), |_| std::future::pending()).unwrap();
    let mut other = service.subscribe(Select::all());
    next(&mut other).await;
    for n in 1..=100 {
        mock.set_foreign(&key("s"), &[n], false);
        assert_eq!(ports(&next(&mut other).await), [n]);
    }
    let begin = Instant::now();
    let report = nacos.shutdown(2 * SECOND).await;
    assert!(!report.clean && begin.elapsed() <= 2 * SECOND + 100 * MS, "{report:?} {:?}", begin.elapsed());
    drop(hanging);
}

#[tokio::test(start_paused = true)]
async fn cg34_no_call_begins_after_unsubscribing_or_after_the_shutdown() {
    for seed in 0..50 {
        let mock = Mock::new(seed, 5 * MS, Dialect::Replacing);
        let nacos = believing(&mock).await;
        let service = nacos.service("s").unwrap();
        let calls = Arc::new(AtomicUsize::new(0));
        let handler = |calls: &Arc<AtomicUsize>| {
            let calls = Arc::clone(calls);
            move |_: ServiceChange| {
                calls.fetch_add(1, Ordering::SeqCst);
                std::future::ready(())
            }
        };
        let dropped = service.on_change(Select::all(), handler(&calls)).unwrap();
        let ended = service.on_change(Select::all(), handler(&calls)).unwrap();
        let closed = service.on_change(Select::all(), handler(&calls)).unwrap();
        for n in 0..mock.with_rng(|rng| rng.u16(1..10)) {
            mock.set_foreign(&key("s"), &[n + 1], false);
            tokio::time::sleep(mock.with_rng(|rng| MS * rng.u32(..5))).await;
        }
        mock.set_foreign(&key("s"), &[100], false);
        drop(dropped);
        ended.unsubscribe().await;
        nacos.shutdown(SECOND).await;
        let before = calls.load(Ordering::SeqCst);
        mock.set_foreign(&key("s"), &[101], false);
        tokio::time::sleep(SECOND).await;
        assert_eq!(calls.load(Ordering::SeqCst), before, "seed {seed}");
        drop(closed);
    }
}

#[tokio::test(start_paused = true)]
async fn services_that_were_only_looked_up_leave_after_the_idle_time() {
    let mock = mock();
    let nacos = believing(&mock).await;
    let service = nacos.service("s").unwrap();
    service.ready().await.unwrap();
    let listed: Vec<_> = nacos.subscribed_services().iter().map(|s| (s.key.clone(), s.listeners)).collect();
    assert_eq!(listed, [(key("s"), 0)]);
    for _ in 0..20 {
        tokio::time::sleep(60 * SECOND).await;
        // An empty list: nothing to pick, but it is used.
        assert!(matches!(service.pick(), Err(crate::PickError::NoInstance { total: 0, .. })));
    }
    assert_eq!(mock.subscribers(&key("s")), 1);
    tokio::time::sleep(720 * SECOND).await;
    assert_eq!(mock.subscribers(&key("s")), 0);
    assert!(nacos.subscribed_services().is_empty());
    assert!(matches!(service.pick(), Err(crate::PickError::NotReady(_))), "a handle comes back to life");
    service.ready().await.unwrap();
    assert_eq!(mock.subscribers(&key("s")), 1);
    service.unsubscribe();
    until("left at once", || mock.subscribers(&key("s")) == 0).await;
}

#[tokio::test(start_paused = true)]
async fn lists_without_statement_or_name_change_nothing() {
    let mock = mock();
    let nacos = believing(&mock).await;
    mock.set_foreign(&key("s"), &[1], false);
    let service = nacos.service("s").unwrap();
    service.ready().await.unwrap();
    let named = nacos_proto::grpc::ServiceInfo {
        name: Some("DEFAULT_GROUP@@s".to_owned()),
        last_ref_time: i64::MAX,
        ..Default::default()
    };
    mock.push_raw(1, named.clone());
    mock.push_raw(1, nacos_proto::grpc::ServiceInfo::default());
    assert_eq!(nacos.stats().pushes_dropped, 2);
    mock.push_raw(1, nacos_proto::grpc::ServiceInfo { hosts: Some(vec![]), ..named });
    assert!(service.try_snapshot().unwrap().unwrap().is_empty(), "a joined name is understood");
}
