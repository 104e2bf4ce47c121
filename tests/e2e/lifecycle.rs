//! The end of a client: in time in every state, complete, and final; on every kind of runtime.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nacos_client::{
    ConfirmError, ConnectionStatus, NamingService, PickError, QueryError, RegisterError, Select, StartError,
};
use nacos_server_min::fault::AnswerFault;
use tokio::runtime::Handle;

use crate::support::client::{LONG, connected, mine, no_task_is_left, on_a_runtime_of_its_own, quick};
use crate::support::consumer::{lists, prompt, service, subscribed};
use crate::support::proxy::Proxy;
use crate::support::wait::{in_time, wait_until};
use crate::support::world::{World, in_every_world, in_our_worlds, unique};

in_every_world!(
    cg50_a_shutdown_takes_the_ephemeral_instances_with_it,
    cg51_after_the_shutdown_every_call_says_closed,
    t03_closing_from_many_tasks_is_one_closing,
);

in_our_worlds!(
    t03_closing_while_it_restores_ends_in_time,
    cg50_a_shutdown_ends_in_time_whatever_hangs,
    cg52_a_whole_life_on_one_thread_and_on_several,
);

/// A limit that is over soon.
const SOON: Duration = Duration::from_millis(200);

async fn cg50_a_shutdown_takes_the_ephemeral_instances_with_it(world: World) {
    let registry = world.registry().await;
    let witness = registry.witness().await;
    let (kept, held) = (unique("kept"), unique("held"));
    let nacos = registry.client();
    nacos.register_instance(&kept, mine(1)).await.expect("it is acknowledged");
    let registration = service(&nacos, &held).register(mine(2)).expect("it is valid");
    registration.confirmed_within(LONG).await.expect("it is acknowledged");
    witness.sees(&kept, &[1]).await;
    witness.sees(&held, &[2]).await;
    let report = in_time("the shutdown", nacos.shutdown(Duration::from_secs(5))).await;
    assert_eq!((report.deregistered, report.unacknowledged, report.clean), (2, 0, true));
    witness.sees(&kept, &[]).await;
    witness.sees(&held, &[]).await;
    wait_until("the connection is closed", || registry.proxy.open() == 0).await;
}

async fn cg50_a_shutdown_ends_in_time_whatever_hangs(world: World) {
    let registry = world.registry().await;
    let name = unique("orders");
    let hung = registry.config().timeouts(quick()).build().expect("the settings are valid");
    let orders = service(&hung, &name);
    let registration = orders.register(mine(1)).expect("it is valid");
    registration.confirmed_within(LONG).await.expect("it is acknowledged");
    // A handler that never comes back, and a server that says nothing any more.
    let stuck = Arc::new(AtomicBool::new(false));
    let entered = Arc::clone(&stuck);
    let _listener = orders
        .on_change(Select::all(), move |_| {
            entered.store(true, Ordering::SeqCst);
            std::future::pending()
        })
        .expect("the client runs");
    wait_until("the handler is stuck", || stuck.load(Ordering::SeqCst)).await;
    registry.server().fault().freeze();
    let report = in_time("the shutdown", hung.shutdown(SOON)).await;
    assert_eq!((report.deregistered, report.unacknowledged, report.clean), (0, 1, false), "and it says so");
    registry.server().fault().thaw();
    let witness = registry.witness().await;
    witness.sees(&name, &[]).await;

    // Never used, and on the way to a server that refuses, or accepts and says nothing.
    let unused = registry.client();
    assert!(in_time("the shutdown", unused.shutdown(Duration::ZERO)).await.clean);
    let silent = Proxy::closed().await;
    for be_silent in [false, true] {
        if be_silent {
            silent.be_silent().await;
        }
        let nacos = NamingService::builder().servers([silent.entry(8848)]).build().expect("the settings are valid");
        let _wanted = service(&nacos, &name).register(mine(3)).expect("it is valid");
        wait_until("it tries to connect", || nacos.status().current() != ConnectionStatus::Idle).await;
        in_time("the shutdown", nacos.shutdown(SOON)).await;
        assert_eq!(nacos.status().current(), ConnectionStatus::Closed);
    }
}

async fn cg51_after_the_shutdown_every_call_says_closed(world: World) {
    let registry = world.registry().await;
    let (nacos, name) = (prompt(&registry), unique("orders"));
    let orders = service(&nacos, &name);
    let registration = orders.register(mine(1)).expect("it is valid");
    registration.confirmed_within(LONG).await.expect("it is acknowledged");
    lists(&orders, &[1]).await;
    let mut changes = subscribed(&orders).await;
    let mut watch = orders.watch(Select::all());
    // What waits while it is shut down hears of it at once.
    let (_, waited) = tokio::join!(nacos.shutdown(Duration::from_secs(5)), async {
        while in_time("the stream ends", changes.next()).await.is_some() {}
        changes.end().cloned()
    });
    assert_eq!(waited, Some(StartError::Closed));
    let closed = StartError::Closed;
    assert_eq!(orders.register(mine(2)).map(drop), Err(RegisterError::Start(closed.clone())));
    assert_eq!(registration.update(|i| i), Err(RegisterError::Start(closed.clone())));
    assert_eq!(registration.confirmed_within(LONG).await, Err(ConfirmError::Start(closed.clone())));
    assert_eq!(orders.pick().map(drop), Err(PickError::Start(closed.clone())));
    assert_eq!(nacos.pick(&name).map(drop), Err(PickError::Start(closed.clone())));
    assert_eq!(orders.try_snapshot().map(drop), Err(closed.clone()));
    for ended in [orders.ready().await, orders.query().await.map(drop), orders.refresh().await.map(drop)] {
        assert_eq!(ended, Err(QueryError::Start(closed.clone())));
    }
    assert_eq!(nacos.services_page("", 1, 10).await.map(drop), Err(QueryError::Start(closed.clone())));
    assert_eq!(nacos.connected(LONG).await, Err(QueryError::Start(closed.clone())));
    assert_eq!(nacos.register_instance(&name, mine(3)).await, Err(ConfirmError::Start(closed.clone())));
    assert!(matches!(watch.changed().await, Err(StartError::Closed)));
    assert_eq!(orders.on_change(Select::all(), |_| async {}).map(drop), Err(closed));
    assert!(orders.subscribe(Select::all()).next().await.is_none());
    let witness = registry.witness().await;
    drop(registration);
    witness.sees(&name, &[]).await;
}

async fn t03_closing_from_many_tasks_is_one_closing(world: World) {
    let registry = world.registry().await;
    let (nacos, name) = (prompt(&registry), unique("orders"));
    let before = Handle::current().metrics().num_alive_tasks();
    nacos.register_instance(&name, mine(1)).await.expect("it is acknowledged");
    let closers: Vec<_> = (0..10)
        .map(|_| {
            let nacos = nacos.clone();
            tokio::spawn(async move { nacos.shutdown(Duration::from_secs(10)).await })
        })
        .collect();
    for closer in closers {
        let report = in_time("every shutdown", closer).await.expect("nothing panics");
        assert_eq!((report.deregistered, report.clean), (1, true));
    }
    assert!(in_time("one more", nacos.shutdown(Duration::ZERO)).await.clean);
    wait_until("no task is left", || Handle::current().metrics().num_alive_tasks() <= before).await;
}

async fn t03_closing_while_it_restores_ends_in_time(world: World) {
    let mut registry = world.registry().await;
    let nacos = registry.config().timeouts(quick()).build().expect("the settings are valid");
    let names: Vec<_> = (0..100).map(|_| unique("orders")).collect();
    for name in &names {
        nacos.register_instance(name, mine(1)).await.expect("it is acknowledged");
    }
    registry.goes_down().await;
    registry.comes_up().await;
    // It has begun to say everything again, and nothing of it is answered.
    registry.server().fault().answers(AnswerFault::silence().request("InstanceRequest"));
    wait_until("it is back, and not done", || {
        nacos.status().current().is_connected() && nacos.stats().redo_backlog > 0
    })
    .await;
    let report = in_time("the shutdown", nacos.shutdown(SOON)).await;
    assert!(report.unacknowledged > 0 || report.deregistered > 0, "{report:?}");
    let witness = registry.witness().await;
    for name in &names {
        witness.sees(name, &[]).await;
    }
    wait_until("the connection is closed", || registry.proxy.open() == 0).await;
}

async fn cg52_a_whole_life_on_one_thread_and_on_several(world: World) {
    let registry = Arc::new(world.registry().await);
    let life = |registry: Arc<crate::support::world::Registry>| async move {
        let (nacos, name) = (prompt(&registry), unique("orders"));
        let orders = service(&nacos, &name);
        connected(&nacos).await;
        let registration = orders.register(mine(1)).expect("it is valid");
        registration.confirmed_within(LONG).await.expect("it is acknowledged");
        lists(&orders, &[1]).await;
        // A task that never yields its turn would stop everything here.
        let (picked, refreshed) = tokio::join!(async { orders.pick() }, orders.refresh());
        assert_eq!(picked.expect("one can be picked").port, 1);
        refreshed.expect("the server answers");
        registration.withdraw().await.expect("it is acknowledged");
        lists(&orders, &[]).await;
        assert!(nacos.shutdown(Duration::from_secs(5)).await.clean);
    };
    let (one, several) = (Arc::clone(&registry), Arc::clone(&registry));
    in_time(
        "a life on one thread",
        on_a_runtime_of_its_own(move || async move {
            life(one).await;
            no_task_is_left().await;
        }),
    )
    .await;
    let run = move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build();
        runtime.expect("a runtime").block_on(life(several));
    };
    in_time("a life on several threads", tokio::task::spawn_blocking(run)).await.expect("nothing panics");
}
