//! Listeners that are slow, stuck or broken, and floods of news: nobody else notices, and the truth comes in the end.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use nacos_client::{ChangeCause, Select, ServiceSnapshot};
use nacos_proto::grpc::{Message, NotifySubscriberResponse};
use tokio::sync::Semaphore;

use crate::support::consumer::{at_hand, lists, mark, marked, next, next_that, ports, prompt, service, subscribed};
use crate::support::forge::{LATE, push, tapped};
use crate::support::wait::{in_time, wait_until};
use crate::support::witness::foreign;
use crate::support::world::{World, in_every_world, in_our_worlds, unique};

in_every_world!(
    cg33_a_panicking_handler_harms_nobody_and_is_called_again,
    cg34_no_call_begins_after_the_end_of_a_listener_was_awaited,
    cg34_nothing_runs_after_the_shutdown_returned,
    cg34_a_call_that_runs_is_waited_for,
    cg35_a_flood_of_pushes_is_merged_and_ends_in_the_right_state,
    cg36_a_push_without_news_calls_nobody,
);

in_our_worlds!(cg32_a_stuck_listener_delays_no_acknowledgement_no_other_listener_and_holds_no_history);

/// Counts the calls of a handler.
#[derive(Debug, Clone, Default)]
struct Calls(Arc<AtomicUsize>);

impl Calls {
    fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

async fn cg32_a_stuck_listener_delays_no_acknowledgement_no_other_listener_and_holds_no_history(world: World) {
    let registry = world.registry().await;
    let (nacos, name) = (prompt(&registry), unique("orders"));
    let orders = service(&nacos, &name);
    let witness = registry.witness().await;
    // One handler never comes back, one stream is never read again.
    let calls = Calls::default();
    let stuck = calls.clone();
    let _stuck = orders
        .on_change(Select::all(), move |change| {
            stuck.add();
            async move {
                std::future::pending::<()>().await;
                drop(change);
            }
        })
        .expect("the client runs");
    let _unread = subscribed(&orders).await;
    let mut healthy = subscribed(&orders).await;
    wait_until("the handler is stuck", || calls.count() == 1).await;
    let mut seen: Vec<Weak<ServiceSnapshot>> = Vec::new();
    for round in 0..60 {
        witness.register(&name, marked(1, round)).await;
        while let Some(change) = at_hand(&mut healthy) {
            seen.push(Arc::downgrade(change.snapshot()));
        }
    }
    let last = next_that(&mut healthy, "others see the last state", |c| mark(c.instances()) == Some("59")).await;
    seen.push(Arc::downgrade(last.snapshot()));
    drop(last);
    wait_until("every push is acknowledged", || {
        let counters = registry.server().counters();
        counters.acks == counters.pushes && counters.refusals == 0
    })
    .await;
    assert_eq!(calls.count(), 1);
    // The newest one, and what the stuck ones hold, which saw none of these.
    let alive = seen.iter().filter(|snapshot| snapshot.strong_count() > 0).count();
    assert_eq!(alive, 1, "of {} lists", seen.len());
}

async fn cg33_a_panicking_handler_harms_nobody_and_is_called_again(world: World) {
    let registry = world.registry().await;
    let (nacos, name) = (prompt(&registry), unique("orders"));
    let orders = service(&nacos, &name);
    let witness = registry.witness().await;
    let (panicked, worked) = (Calls::default(), Calls::default());
    let (in_panic, in_work) = (panicked.clone(), worked.clone());
    let _panics = orders
        .on_change(Select::all(), move |_| {
            in_panic.add();
            // Once when it makes the future, once within it.
            assert!(in_panic.count() % 2 == 0, "a fault of the application");
            async { panic!("another fault of the application") }
        })
        .expect("the client runs");
    let _works = orders
        .on_change(Select::all(), move |_| {
            in_work.add();
            async {}
        })
        .expect("the client runs");
    let mut stream = subscribed(&orders).await;
    wait_until("both are called with the first list", || panicked.count() == 1 && worked.count() == 1).await;
    for port in 1..=3 {
        witness.register(&name, foreign(port)).await;
        let expected = [u16::try_from(port).unwrap()];
        next_that(&mut stream, "the stream is told", |change| ports(change.instances()) == expected).await;
        let calls = usize::try_from(port).unwrap() + 1;
        wait_until("both are called again", || panicked.count() >= calls && worked.count() >= calls).await;
    }
    wait_until("panics are counted", || nacos.stats().listener_panics == panicked.count() as u64).await;
}

async fn cg34_no_call_begins_after_the_end_of_a_listener_was_awaited(world: World) {
    let registry = world.registry().await;
    let (nacos, name) = (prompt(&registry), unique("orders"));
    let orders = service(&nacos, &name);
    let witness = registry.witness().await;
    let mut stream = subscribed(&orders).await;
    for port in 1..=3 {
        let calls = Calls::default();
        let counted = calls.clone();
        let listener = orders
            .on_change(Select::all(), move |_| {
                counted.add();
                async {}
            })
            .expect("the client runs");
        witness.register(&name, foreign(port)).await;
        in_time("the end of the listener", listener.unsubscribe()).await;
        let before = calls.count();
        let expected = [u16::try_from(port).unwrap()];
        if ports(orders.snapshot().await.unwrap().instances()) != expected {
            next_that(&mut stream, "others are told", |change| ports(change.instances()) == expected).await;
        }
        witness.register(&name, foreign(port + 10)).await;
        let expected = [u16::try_from(port + 10).unwrap()];
        next_that(&mut stream, "others are told", |change| ports(change.instances()) == expected).await;
        assert_eq!(calls.count(), before);
    }
}

async fn cg34_nothing_runs_after_the_shutdown_returned(world: World) {
    let registry = world.registry().await;
    let (nacos, name) = (prompt(&registry), unique("orders"));
    let orders = service(&nacos, &name);
    let calls = Calls::default();
    let inside = Arc::new(AtomicUsize::new(0));
    let (counted, running) = (calls.clone(), Arc::clone(&inside));
    let _listener = orders
        .on_change(Select::all(), move |_| {
            counted.add();
            let running = Arc::clone(&running);
            async move {
                running.fetch_add(1, Ordering::SeqCst);
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                running.fetch_sub(1, Ordering::SeqCst);
            }
        })
        .expect("the client runs");
    let witness = registry.witness().await;
    witness.register(&name, foreign(1)).await;
    let report = in_time("the shutdown", nacos.shutdown(Duration::from_secs(5))).await;
    assert!(report.clean, "{report:?}");
    assert_eq!(inside.load(Ordering::SeqCst), 0, "a call that ran has finished");
    let before = calls.count();
    witness.register(&name, foreign(2)).await;
    witness.sees(&name, &[2]).await;
    assert_eq!(calls.count(), before);
    assert!(orders.on_change(Select::all(), |_| async {}).is_err(), "and no new one begins");
}

async fn cg34_a_call_that_runs_is_waited_for(world: World) {
    let registry = world.registry().await;
    let (nacos, name) = (prompt(&registry), unique("orders"));
    let orders = service(&nacos, &name);
    let gate = Arc::new(Semaphore::new(0));
    let (begun, ended) = (Calls::default(), Calls::default());
    let (begin, end, wait) = (begun.clone(), ended.clone(), Arc::clone(&gate));
    let listener = orders
        .on_change(Select::all(), move |_| {
            begin.add();
            let (end, wait) = (end.clone(), Arc::clone(&wait));
            async move {
                wait.acquire().await.expect("the gate stays").forget();
                end.add();
            }
        })
        .expect("the client runs");
    wait_until("the call runs", || begun.count() == 1).await;
    let mut unsubscribed = std::pin::pin!(listener.unsubscribe());
    assert!(futures_util::poll!(unsubscribed.as_mut()).is_pending(), "the call still runs");
    gate.add_permits(1);
    in_time("the end of the listener", unsubscribed).await;
    assert_eq!((begun.count(), ended.count()), (1, 1));
}

async fn cg35_a_flood_of_pushes_is_merged_and_ends_in_the_right_state(world: World) {
    let flood = if world == World::Standard { 10_000 } else { 2_000 };
    let (_registry, tap, nacos, orders, name) = tapped(world).await;
    let mut slow = subscribed(&orders).await;
    let (calls, latest) = (Calls::default(), Arc::new(Mutex::new(None)));
    let (counted, record) = (calls.clone(), Arc::clone(&latest));
    let _handler = orders
        .on_change(Select::all(), move |change| {
            counted.add();
            *record.lock().unwrap() = mark(change.instances()).map(str::to_owned);
            async {}
        })
        .expect("the client runs");
    for number in 0..flood {
        tap.inject(&push(&name, number, LATE + number as i64, vec![marked(1, number)]));
    }
    let last = (flood - 1).to_string();
    wait_until("the last state has arrived", || latest.lock().unwrap().as_deref() == Some(last.as_str())).await;
    let change = at_hand(&mut slow).expect("much has changed");
    assert_eq!(mark(change.instances()), Some(last.as_str()));
    assert_eq!((change.added().len(), change.modified().len(), change.removed().len()), (1, 0, 0));
    assert!(at_hand(&mut slow).is_none(), "one difference for all of them");
    assert!(calls.count() <= flood + 1);
    assert!(nacos.stats().pushes_applied >= flood as u64);
    let acknowledged = || tap.count(NotifySubscriberResponse::TYPE) >= flood;
    wait_until("every push is acknowledged", acknowledged).await;
}

async fn cg36_a_push_without_news_calls_nobody(world: World) {
    let (_registry, tap, nacos, orders, name) = tapped(world).await;
    let hosts = || vec![marked(1, "same"), foreign(2)];
    let mut stream = subscribed(&orders).await;
    tap.inject(&push(&name, 0, LATE, hosts()));
    let change = next_that(&mut stream, "the list is told", |change| change.instances().len() == 2).await;
    let calls = Calls::default();
    let counted = calls.clone();
    let _handler = orders
        .on_change(Select::all(), move |_| {
            counted.add();
            async {}
        })
        .expect("the client runs");
    wait_until("the handler has the first list", || calls.count() == 1).await;
    let before = nacos.stats().pushes_unchanged;
    for number in 1..=20 {
        let mut same = hosts();
        // Neither the order nor the time nor an id made up by the server is news.
        if number % 2 == 0 {
            same.reverse();
        }
        same.iter_mut().for_each(|host| host.instance_id = Some(number.to_string()));
        tap.inject(&push(&name, number, LATE + number as i64, same));
    }
    wait_until("all have arrived", || nacos.stats().pushes_unchanged >= before + 20).await;
    assert!(at_hand(&mut stream).is_none());
    assert_eq!(calls.count(), 1);
    assert_eq!(orders.snapshot().await.expect("there is a list").revision(), change.snapshot().revision());
    // And the next one with news does.
    tap.inject(&push(&name, 21, LATE + 21, vec![marked(1, "new")]));
    let change = next(&mut stream).await;
    assert_eq!((change.cause(), mark(change.instances())), (ChangeCause::Changed, Some("new")));
    lists(&orders, &[1]).await;
}
