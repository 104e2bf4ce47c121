//! Connections whose lists are polled, with datagrams as mere hints.

use super::*;
use crate::config::{ClientConfig, EmptyPolicy};
use crate::model::Select;
use crate::naming::mock::Fate;

fn is_query(call: &Call) -> bool {
    matches!(call, Call::Query { .. })
}

/// A client that believes every list, on a connection that is polled every 10 s.
async fn polling(mock: &Mock, datagrams_lost: bool) -> NamingService {
    mock.poll(Some(10_000), datagrams_lost);
    let config = ClientConfig::builder().servers(["mock"]).empty_policy(EmptyPolicy::Accept).build().unwrap();
    let nacos = mock.client_with(config);
    start(&nacos).await;
    mock.connect();
    nacos
}

#[tokio::test(start_paused = true)]
async fn h08_without_any_datagram_a_change_is_seen_with_the_next_poll() {
    let mock = mock();
    let nacos = polling(&mock, true).await;
    let mut subscription = nacos.service("s").unwrap().subscribe(Select::all());
    assert_eq!(subscription.next().await.unwrap().instances().len(), 0);
    for n in 1..=20u16 {
        mock.set_foreign(&key("s"), &[n], false);
        let changed = Instant::now();
        assert_eq!(subscription.next().await.unwrap().instances()[0].port, n);
        assert!(changed.elapsed() <= 10 * SECOND + 10 * MS, "{:?}", changed.elapsed());
    }
    assert_eq!((nacos.stats().polls_applied, nacos.stats().repairs, nacos.stats().pushes), (20, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_datagram_is_seen_at_once_and_polls_go_on() {
    let mock = mock();
    let nacos = polling(&mock, false).await;
    let mut subscription = nacos.service("s").unwrap().subscribe(Select::all());
    subscription.next().await.unwrap();
    for n in 1..=100u16 {
        tokio::time::sleep(SECOND).await;
        mock.set_foreign(&key("s"), &[n], false);
        let changed = Instant::now();
        assert_eq!(subscription.next().await.unwrap().instances()[0].port, n);
        assert!(changed.elapsed() <= 10 * MS, "{n}: {:?}", changed.elapsed());
    }
    let stats = nacos.stats();
    assert_eq!((stats.pushes, stats.pushes_applied), (100, 99), "the first one led to a query");
    assert_eq!(stats.pushes_doubtful, 1);
    assert!((10..=14).contains(&stats.polls), "{}", stats.polls);
}

#[tokio::test(start_paused = true)]
async fn empty_services_are_polled_at_the_normal_rate_so_that_pushes_of_them_go_on() {
    let mock = mock();
    let nacos = polling(&mock, true).await;
    let _subscription = nacos.service("s").unwrap().subscribe(Select::all());
    tokio::time::sleep(600 * SECOND).await;
    let polls = count(&mock.take_log(), is_query);
    assert!((60..=75).contains(&polls), "{polls}");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_fails_backs_off_keeps_its_list_and_comes_back() {
    let mock = mock();
    mock.set_foreign(&key("s"), &[1], false);
    let nacos = polling(&mock, true).await;
    let service = nacos.service("s").unwrap();
    let mut subscription = service.subscribe(Select::all());
    subscription.next().await.unwrap();
    mock.script(|call| if is_query(call) { Fate::Refuse(503) } else { Fate::Obey });
    mock.take_log();
    tokio::time::sleep(600 * SECOND).await;
    let polls = count(&mock.take_log(), is_query);
    assert!((12..=30).contains(&polls), "{polls}");
    assert_eq!(service.try_snapshot().unwrap().unwrap().instances().len(), 1);
    mock.script(|_| Fate::Obey);
    mock.set_foreign(&key("s"), &[1, 2], false);
    let changed = Instant::now();
    assert_eq!(subscription.next().await.unwrap().instances().len(), 2);
    assert!(changed.elapsed() <= 61 * SECOND, "{:?}", changed.elapsed());
}

#[tokio::test(start_paused = true)]
async fn lists_without_instances_are_asked_for_ever_less_and_the_old_one_stays() {
    let mock = mock();
    mock.set_foreign(&key("s"), &[1], false);
    let nacos = polling(&mock, true).await;
    let service = nacos.service("s").unwrap();
    let mut subscription = service.subscribe(Select::all());
    subscription.next().await.unwrap();
    mock.leave_hosts_out(true);
    mock.take_log();
    tokio::time::sleep(600 * SECOND).await;
    let polls = count(&mock.take_log(), is_query);
    assert!((12..=30).contains(&polls), "{polls}");
    assert_eq!(service.try_snapshot().unwrap().unwrap().instances().len(), 1);
    mock.leave_hosts_out(false);
    mock.set_foreign(&key("s"), &[1, 2], false);
    let changed = Instant::now();
    assert_eq!(subscription.next().await.unwrap().instances().len(), 2);
    assert!(changed.elapsed() <= 61 * SECOND, "{:?}", changed.elapsed());
    mock.take_log();
    tokio::time::sleep(100 * SECOND).await;
    assert!((10..=13).contains(&count(&mock.take_log(), is_query)), "the usual pace again");
}

#[tokio::test(start_paused = true)]
async fn nobody_is_polled_for_after_the_last_listener_has_left() {
    let mock = mock();
    let nacos = polling(&mock, true).await;
    let mut subscription = nacos.service("s").unwrap().subscribe(Select::all());
    subscription.next().await.unwrap();
    drop(subscription);
    until("unsubscribed", || mock.subscribers(&key("s")) == 0).await;
    mock.take_log();
    tokio::time::sleep(600 * SECOND).await;
    assert!(mock.take_log().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_answer_overtaken_by_a_datagram_is_asked_for_again_a_second_later() {
    let mock = Mock::new(3, 500 * MS, Dialect::Replacing);
    let nacos = polling(&mock, false).await;
    let mut subscription = nacos.service("s").unwrap().subscribe(Select::all());
    subscription.next().await.unwrap();
    // Two, as the first of a server only asks; then one while a poll is under way.
    for n in 1..=2 {
        mock.set_foreign(&key("s"), &[n], false);
        subscription.next().await.unwrap();
    }
    let polls = || nacos.stats().polls;
    let before = polls();
    until("a poll is sent", || polls() > before).await;
    mock.set_foreign(&key("s"), &[3], false);
    mock.poll(Some(10_000), true);
    mock.set_foreign(&key("s"), &[4], false);
    assert_eq!(subscription.next().await.unwrap().instances()[0].port, 3);
    let overtaken = Instant::now();
    assert_eq!(subscription.next().await.unwrap().instances()[0].port, 4);
    assert!(overtaken.elapsed() <= 4 * SECOND, "{:?}", overtaken.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_second_client_in_the_process_that_is_pushed_to_is_not_polled() {
    let (old, new) = (mock(), mock());
    let polled = polling(&old, true).await;
    let pushed = connected(&new).await;
    let mut first = polled.service("s").unwrap().subscribe(Select::all());
    let mut second = pushed.service("s").unwrap().subscribe(Select::all());
    first.next().await.unwrap();
    second.next().await.unwrap();
    new.take_log();
    old.take_log();
    tokio::time::sleep(45 * SECOND).await;
    assert_eq!(count(&new.take_log(), is_query), 0, "reconciled after 48 s at the earliest");
    assert!(count(&old.take_log(), is_query) >= 4);
}

#[tokio::test(start_paused = true)]
async fn moving_from_polls_to_pushes_ends_the_polls() {
    let mock = mock();
    let nacos = polling(&mock, true).await;
    let mut subscription = nacos.service("s").unwrap().subscribe(Select::all());
    subscription.next().await.unwrap();
    mock.push_instead();
    let (_, old_ended) = mock.connect_handover();
    old_ended.cancelled().await;
    mock.take_log();
    tokio::time::sleep(45 * SECOND).await;
    assert_eq!(count(&mock.take_log(), is_query), 0);
    mock.set_foreign(&key("s"), &[1], false);
    assert_eq!(subscription.next().await.unwrap().instances().len(), 1);
}
