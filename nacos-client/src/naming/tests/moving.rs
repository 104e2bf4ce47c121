use super::*;
use crate::config::{ClientConfig, EmptyPolicy};
use crate::model::Select;
use crate::naming::mock::Fate;

#[tokio::test(start_paused = true)]
async fn cg11_the_old_connection_closes_only_when_the_new_one_holds_the_same_records() {
    let mock = mock();
    let nacos = connected(&mock).await;
    let registrations: Vec<_> =
        (0..100).map(|n| nacos.service(format!("s{n}")).unwrap().register(instance(1).weight(2.0)).unwrap()).collect();
    for registration in &registrations {
        registration.confirmed().await.unwrap();
    }
    mock.take_log();
    let (epoch, old_ended) = mock.connect_handover();
    // A change that must not be made before the old connection is closed.
    registrations[7].update(|i| i.weight(3.0)).unwrap();
    let moved = async {
        loop {
            let all_held = (0..100).all(|n| mock.held(&key(&format!("s{n}"))) == [1]);
            assert!(all_held, "observers never miss an instance");
            if old_ended.is_cancelled() {
                return;
            }
            let seven = mock.held_instances(&key("s7"));
            assert!(seven.iter().all(|i| i.weight == 2.0), "only identical records beside each other");
            tokio::time::sleep(MS / 4).await;
        }
    };
    timeout(5 * SECOND, moved).await.unwrap();
    let log = mock.take_log();
    let copies = log.iter().filter(|(at, call)| *at == epoch && is_register(call)).count();
    assert!(copies >= 100, "{copies}");
    registrations[7].confirmed().await.unwrap();
    assert_eq!(mock.held_instances(&key("s7")).iter().map(|i| i.weight).collect::<Vec<_>>(), [3.0]);
    assert_eq!(nacos.stats().moved, 1);
}

#[tokio::test(start_paused = true)]
async fn g11_subscriptions_move_without_an_empty_list_or_a_marker() {
    let mock = mock();
    let nacos = connected(&mock).await;
    mock.set_foreign(&key("s"), &[1, 2], false);
    let mut subscription = nacos.service("s").unwrap().subscribe(Select::all());
    subscription.next().await.unwrap();
    let own = nacos.service("t").unwrap().register(instance(1)).unwrap();
    own.confirmed().await.unwrap();
    let (_, old_ended) = mock.connect_handover();
    old_ended.cancelled().await;
    tokio::time::sleep(10 * SECOND).await;
    mock.set_foreign(&key("s"), &[1, 2, 3], false);
    let change = subscription.next().await.unwrap();
    assert_eq!((change.added().len(), change.removed().len()), (1, 0));
    assert_eq!(change.cause(), crate::ChangeCause::Changed);
    assert_eq!(mock.subscribers(&key("s")), 1);
}

#[tokio::test(start_paused = true)]
async fn a_withdrawal_during_the_move_is_final() {
    let mock = Mock::new(5, 30 * MS, Dialect::Replacing);
    let nacos = connected(&mock).await;
    let service = nacos.service("s").unwrap();
    let a = service.register(instance(1)).unwrap();
    let b = service.register(instance(2)).unwrap();
    a.confirmed().await.unwrap();
    b.confirmed().await.unwrap();
    let (_, old_ended) = mock.connect_handover();
    drop(a);
    old_ended.cancelled().await;
    until("only the other", || mock.held(&key("s")) == [2]).await;
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(mock.held(&key("s")), [2]);
}

#[tokio::test(start_paused = true)]
async fn a_call_under_way_on_the_old_connection_is_waited_for() {
    let mock = Mock::new(2, 200 * MS, Dialect::Replacing);
    let nacos = connected(&mock).await;
    let registration = nacos.service("s").unwrap().register(instance(1)).unwrap();
    tokio::time::sleep(10 * MS).await;
    let (epoch, old_ended) = mock.connect_handover();
    old_ended.cancelled().await;
    registration.confirmed().await.unwrap();
    let log = mock.take_log();
    let on: Vec<u64> = log.iter().filter(|(_, call)| is_register(call)).map(|(at, _)| *at).collect();
    assert_eq!(on, [epoch - 1, epoch]);
    assert_eq!(mock.held(&key("s")), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_new_server_that_refuses_a_record_does_not_stop_the_move() {
    let mock = mock();
    let nacos = connected(&mock).await;
    let registration = nacos.service("s").unwrap().register(instance(1)).unwrap();
    registration.confirmed().await.unwrap();
    mock.script(|_| Fate::Refuse(500));
    let (_, old_ended) = mock.connect_handover();
    timeout(SECOND, old_ended.cancelled()).await.unwrap();
    mock.script(|_| Fate::Obey);
    until("registered", || mock.held(&key("s")) == [1]).await;
}

#[tokio::test(start_paused = true)]
async fn cg38_moving_a_hundred_times_between_clocks_an_hour_apart_loses_nothing() {
    let mock = mock();
    let config = ClientConfig::builder().servers(["mock"]).empty_policy(EmptyPolicy::Accept).build().unwrap();
    let nacos = mock.client_with(config);
    start(&nacos).await;
    mock.connect();
    let mut subscription = nacos.service("s").unwrap().subscribe(Select::all());
    subscription.next().await.unwrap();
    for n in 1..=100u16 {
        mock.disconnect();
        mock.step_clock(if n % 2 == 0 { 3_600_000 } else { -3_600_000 });
        mock.connect();
        let subscribed = || mock.subscribers(&key("s")) == 1;
        until("subscribed", subscribed).await;
        mock.set_foreign(&key("s"), &[n], false);
        let seen =
            async { while subscription.next().await.unwrap().instances().first().is_none_or(|i| i.port != n) {} };
        timeout(100 * MS, seen).await.unwrap_or_else(|_| panic!("frozen after move {n}"));
    }
}
