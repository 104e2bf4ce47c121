use futures_util::FutureExt;

use super::*;
use crate::error::{PickError, QueryError, RegisterError, StartError};
use crate::model::Select;
use crate::naming::mock::Fate;
use crate::naming::{ConnectionStatus, Subscription};

#[tokio::test(start_paused = true)]
async fn cg51_after_the_shutdown_every_call_is_closed_and_nothing_is_left() {
    let mock = mock();
    let nacos = connected(&mock).await;
    let service = nacos.service("s").unwrap();
    let mut subscription = service.subscribe(Select::all());
    let registration = service.register(instance(1)).unwrap();
    registration.confirmed().await.unwrap();
    let report = nacos.shutdown(5 * SECOND).await;
    assert_eq!((report.deregistered, report.unacknowledged, report.clean), (1, 0, true));
    assert!(mock.held(&key("s")).is_empty() && mock.is_closed());
    assert_eq!(count(&mock.take_log(), |c| matches!(c, Call::Deregister { .. })), 1);
    while subscription.next().await.is_some() {}
    assert_eq!(subscription.end(), Some(&StartError::Closed));
    assert!(matches!(service.register(instance(1)), Err(RegisterError::Start(StartError::Closed))));
    assert!(matches!(service.pick(), Err(PickError::Start(StartError::Closed))));
    assert!(matches!(service.snapshot().await, Err(QueryError::Start(StartError::Closed))));
    assert!(matches!(service.query().await, Err(QueryError::Start(StartError::Closed))));
    assert!(matches!(nacos.connected(SECOND).await, Err(QueryError::Start(StartError::Closed))));
    assert!(service.on_change(Select::all(), |_| std::future::ready(())).is_err());
    assert!(service.subscribe(Select::all()).next().await.is_none());
    assert_eq!(nacos.get_server_status(), ConnectionStatus::Closed);
    assert_eq!(nacos.status().changed(&ConnectionStatus::Idle).await, ConnectionStatus::Closed);
    drop(registration);
    assert!(mock.take_log().is_empty());
}

#[tokio::test(start_paused = true)]
async fn cg50_a_shutdown_ends_in_time_in_every_state() {
    for (state, limit) in (0..5).flat_map(|state| [0, 300, 3_000].map(|ms| (state, ms * MS))) {
        let mock = mock();
        let nacos = mock.client();
        let mut registration = None;
        if state >= 1 {
            registration = Some(nacos.service("s").unwrap().register(instance(1)).unwrap());
        }
        if state >= 2 {
            mock.connect();
            tokio::time::sleep(SECOND).await;
        }
        if state == 3 {
            mock.script(|_| Fate::Ignore);
            registration.as_ref().unwrap().update(|i| i.weight(2.0)).unwrap();
            tokio::time::sleep(SECOND).await;
        }
        if state == 4 {
            mock.disconnect();
        }
        let begin = Instant::now();
        let report = nacos.shutdown(limit).await;
        let took = begin.elapsed();
        assert!(took <= limit + 100 * MS, "state {state}, limit {limit:?}: {took:?}");
        until("closed", || mock.is_closed()).await;
        assert!(mock.held(&key("s")).is_empty(), "state {state}: {report:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn t03_closing_twice_and_at_once_is_one_closing() {
    let mock = mock();
    let nacos = connected(&mock).await;
    nacos.register_instance("s", instance(1)).await.unwrap();
    let closing = (0..10).map(|_| nacos.shutdown(5 * SECOND));
    let reports = futures_util::future::join_all(closing).await;
    assert!(reports.iter().all(|r| r.clean && r.deregistered == 1), "{reports:?}");
    assert!(nacos.shutdown(SECOND).await.clean);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_whose_caller_stopped_waiting_goes_on() {
    let mock = mock();
    let nacos = connected(&mock).await;
    nacos.register_instance("s", instance(1)).await.unwrap();
    let mut closing = Box::pin(nacos.shutdown(5 * SECOND));
    assert!(futures_util::poll!(&mut closing).is_pending());
    drop(closing);
    until("closed", || mock.is_closed()).await;
    assert_eq!(count(&mock.take_log(), |c| matches!(c, Call::Deregister { .. })), 1);
}

#[tokio::test(start_paused = true)]
async fn cg51_dropping_the_last_handle_ends_everything() {
    let mock = mock();
    let nacos = connected(&mock).await;
    nacos.register_instance("s", instance(1)).await.unwrap();
    let mut subscription: Subscription = nacos.service("s").unwrap().subscribe(Select::all());
    subscription.next().await.unwrap();
    drop(nacos);
    tokio::time::sleep(SECOND).await;
    assert!(!mock.is_closed(), "a subscription is a handle");
    drop(subscription);
    assert!(mock.is_closed());
    assert!(mock.held(&key("s")).is_empty());
    let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    until("no task is left", || alive() == 0).await;
}

#[test]
fn t01_outside_a_runtime_nothing_panics() {
    let nacos = mock().client();
    let service = nacos.service("s").unwrap();
    assert!(matches!(service.register(instance(1)), Err(RegisterError::Start(StartError::NoRuntime))));
    assert!(matches!(service.pick(), Err(PickError::Start(StartError::NoRuntime))));
    assert!(matches!(nacos.pick("s"), Err(PickError::Start(StartError::NoRuntime))));
    assert!(matches!(service.try_snapshot(), Err(StartError::NoRuntime)));
    let mut subscription = service.subscribe(Select::all());
    assert!(subscription.next().now_or_never().flatten().is_none());
    assert_eq!(subscription.end(), Some(&StartError::NoRuntime));
    assert!(matches!(service.ready().now_or_never(), Some(Err(QueryError::Start(StartError::NoRuntime)))));
    assert!(matches!(nacos.connected(SECOND).now_or_never(), Some(Err(QueryError::Start(StartError::NoRuntime)))));
    assert!(nacos.shutdown(SECOND).now_or_never().is_some_and(|report| report.clean));
    drop((subscription, service, nacos));
}

#[test]
fn t01_a_client_survives_its_runtime_and_is_closed() {
    let mock = mock();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let nacos = mock.client();
    let registration = runtime.block_on(async {
        let registration = nacos.service("s").unwrap().register(instance(1)).unwrap();
        mock.connect();
        registration.confirmed().await.unwrap();
        registration
    });
    // Registered from the runtime, changed from a plain thread.
    registration.update(|i| i.weight(2.0)).unwrap();
    drop(runtime);
    let second = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    second.block_on(async {
        let again = nacos.service("s").unwrap().register(instance(2));
        assert!(matches!(again, Err(RegisterError::Start(StartError::Closed))));
        assert!(registration.confirmed_within(10 * MS).await.is_err());
        nacos.shutdown(100 * MS).await;
    });
    drop((registration, nacos));
}

#[test]
fn cg52_runs_on_a_current_thread_runtime_and_in_a_local_set() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let mock = mock();
        let nacos = connected(&mock).await;
        nacos.register_instance("s", instance(1)).await.unwrap();
        assert_eq!(nacos.get_all_instances("s", &[]).await.unwrap().len(), 1);
        assert!(nacos.shutdown(SECOND).await.clean);
    });
}

#[test]
fn t01_a_started_client_used_outside_a_runtime_says_so() {
    let mock = mock();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
    let nacos = runtime.block_on(connected(&mock));
    let service = nacos.service("s").unwrap();
    let none = QueryError::Start(StartError::NoRuntime);
    assert_eq!(service.query().now_or_never(), Some(Err(none.clone())));
    assert_eq!(service.ready().now_or_never(), Some(Err(none.clone())));
    assert_eq!(nacos.connected(SECOND).now_or_never(), Some(Err(none.clone())));
    assert_eq!(nacos.services_page("g", 1, 1).now_or_never(), Some(Err(none)));
    // What needs no timer works from any thread.
    let registration = service.register(instance(1)).unwrap();
    runtime.block_on(registration.confirmed()).unwrap();
    assert!(runtime.block_on(nacos.shutdown(Duration::MAX)).clean);
}

#[test]
fn g21_registering_updating_listening_and_closing_from_64_tasks_never_locks_up() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    runtime.block_on(async {
        let mock = Mock::new(1, MS, Dialect::Replacing);
        let nacos = connected(&mock).await;
        let mut tasks = tokio::task::JoinSet::new();
        for n in 0..64u16 {
            let (nacos, mock) = (nacos.clone(), Arc::clone(&mock));
            // Tasks of the test, awaited below.
            tasks.spawn(async move {
                let service = nacos.service(format!("s{}", n % 4)).unwrap();
                for round in 0..20 {
                    let Ok(registration) = service.register(instance(n + 1)) else { return };
                    let mut subscription = service.subscribe(Select::healthy());
                    // Closed by the last task, or a change that is overtaken: only the locking matters here.
                    let _ = registration.update(|i| i.weight(f64::from(round)));
                    let _ = registration.confirmed_within(5 * MS).await;
                    let _ = timeout(5 * MS, subscription.next()).await;
                    let _ = service.pick();
                    if n == 7 && round % 5 == 0 {
                        mock.disconnect();
                        mock.connect();
                    }
                    if n == 63 && round == 19 {
                        nacos.shutdown(SECOND).await;
                    }
                }
            });
        }
        let all = timeout(20 * SECOND, tasks.join_all());
        all.await.expect("every task ends");
        assert!(nacos.shutdown(SECOND).await.clean);
    });
}

#[test]
fn t01_dropping_while_unwinding_is_no_second_panic() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let result = std::panic::catch_unwind(|| {
        runtime.block_on(async {
            let mock = mock();
            let nacos = connected(&mock).await;
            let _registration = nacos.service("s").unwrap().register(instance(1)).unwrap();
            let _subscription = nacos.service("s").unwrap().subscribe(Select::all());
            panic!("the test's own");
        });
    });
    assert!(result.is_err());
}

#[tokio::test(start_paused = true)]
async fn the_status_follows_the_connection() {
    let mock = mock();
    let nacos = mock.client();
    let mut status = nacos.status();
    assert_eq!(status.current(), ConnectionStatus::Idle);
    start(&nacos).await;
    assert!(mock.is_started());
    mock.connect();
    let up = status.changed(&ConnectionStatus::Idle).await;
    assert!(matches!(&up, ConnectionStatus::Connected { server, .. } if server == "mock:1"), "{up:?}");
    mock.disconnect();
    let down = status.changed(&up).await;
    assert!(matches!(down, ConnectionStatus::Disconnected { .. }), "{down:?}");
    nacos.shutdown(SECOND).await;
    assert_eq!(status.changed(&down).await, ConnectionStatus::Closed);
}
