//! Ending a client, and ending calls, at any moment.

use std::sync::Arc;
use std::time::Duration;

use nacos_client::{Instance, NamingService, Registration, Select};
use nacos_proto::grpc::InstanceRequest;
use nacos_server_min::fault::AnswerFault;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::support::client::{mine, no_task_is_left, on_a_runtime_of_its_own, ports, quick, service, told};
use crate::support::tap::tapped;
use crate::support::wait::{in_time, wait_until};
use crate::support::witness::Witness;
use crate::support::world::{Registry, World, in_our_worlds};

in_our_worlds!(g21_registering_updating_and_closing_from_many_tasks_ends, t03_closing_ends_in_every_state,);

#[tokio::test]
async fn cg07_a_dropped_call_leaves_its_wish_whole_or_not_at_all() {
    let (registry, tap, nacos) = tapped(World::Standard).await;
    registry.server().fault().answers(AnswerFault::delay(Duration::from_millis(2)));
    let witness: Witness = registry.witness().await;
    for polls in 0..6 {
        let name = format!("s{polls}");
        let mut call = Box::pin(nacos.register_instance(&*name, Instance::new(("127.0.0.1", 8080))));
        let mut done = false;
        for _ in 0..polls {
            done = done || futures_util::poll!(&mut call).is_ready();
            tokio::task::yield_now().await;
        }
        assert!(!done, "the answer takes longer");
        drop(call);
        if polls == 0 {
            // Never begun: there is no wish.
            assert!(witness.instances(&name).await.is_empty());
        } else {
            // Begun: the wish is there, and nobody needs to wait for it.
            witness.sees(&name, &[8080]).await;
        }
        let instance = mine(8080);
        let mut call = Box::pin(nacos.deregister_instance(&*name, &instance));
        for _ in 0..polls {
            drop(futures_util::poll!(&mut call));
            tokio::task::yield_now().await;
        }
        drop(call);
        if polls > 0 {
            witness.sees(&name, &[]).await;
        }
    }
    let untouched = tap
        .said_of("InstanceRequest")
        .into_iter()
        .any(|said| said.payload.decode_json::<InstanceRequest>().unwrap().service_name.as_deref() == Some("s0"));
    assert!(!untouched, "a call that was never polled says nothing");
}

async fn g21_registering_updating_and_closing_from_many_tasks_ends(world: World) {
    const TASKS: u16 = 64;
    let registry = world.registry().await;
    registry.server().fault().answers(AnswerFault::delay(Duration::from_millis(3)).share(0.5));
    let config = registry.config().timeouts(quick());
    // One thread for everything, where a lock that is held across a wait would stop all.
    on_a_runtime_of_its_own(move || async move {
        let nacos = config.build().unwrap();
        let mut tasks = JoinSet::new();
        for task in 0..TASKS {
            let nacos = nacos.clone();
            tasks.spawn(async move {
                let handle = service(&nacos, &format!("s{}", task % 8));
                let mut changes = handle.subscribe(Select::all());
                for round in 0..5 {
                    let registration = handle.register(mine(1000 + task)).unwrap();
                    registration.update(|instance| instance.weight(f64::from(round))).unwrap();
                    registration.confirmed().await.expect("it is registered");
                    told(&mut changes, "itself", |list| ports(list).contains(&(1000 + task))).await;
                    registration.withdraw().await.expect("it is gone");
                }
            });
        }
        in_time("all tasks end", tasks.join_all()).await;
        // Closing while others still work.
        let mut tasks = JoinSet::new();
        for task in 0..TASKS {
            let nacos = nacos.clone();
            tasks.spawn(async move {
                let Ok(registration) = service(&nacos, &format!("s{}", task % 8)).register(mine(1000 + task)) else {
                    return; // closed already
                };
                drop(registration.confirmed().await);
                if task % 20 == 0 {
                    nacos.shutdown(Duration::from_secs(5)).await;
                }
            });
        }
        in_time("all tasks end", tasks.join_all()).await;
        drop(nacos);
        no_task_is_left().await;
    })
    .await;
    wait_until("the connection is closed", || registry.proxy.open() == 0).await;
}

/// The states of a client in which it is closed.
const STATES: [&str; 7] =
    ["idle", "connecting", "connected", "while it redoes", "server frozen", "black hole", "server refuses everything"];

async fn t03_closing_ends_in_every_state(world: World) {
    for state in STATES {
        let registry = world.registry().await;
        if state == "connecting" {
            registry.proxy.be_silent().await;
        }
        let config = registry.config().timeouts(quick());
        let proxy = Arc::new(registry);
        let registry = Arc::clone(&proxy);
        on_a_runtime_of_its_own(move || async move {
            let nacos = config.build().unwrap();
            let registrations = if state == "idle" { vec![] } else { bring_into(state, &nacos, &registry).await };
            let mut closers = JoinSet::new();
            let begun = Instant::now();
            for _ in 0..10 {
                let nacos = nacos.clone();
                closers.spawn(async move { nacos.shutdown(Duration::from_secs(2)).await });
            }
            let reports = in_time(state, closers.join_all()).await;
            // Two seconds, and much patience with the machine.
            assert!(begun.elapsed() < Duration::from_secs(10), "{state}: {:?}", begun.elapsed());
            assert!(reports.windows(2).all(|two| two[0] == two[1]), "{state}: {reports:?}");
            assert!(reports[0].clean, "{state}: {reports:?}");
            in_time(state, nacos.shutdown(Duration::from_secs(2))).await;
            assert!(service(&nacos, "orders").register(mine(1)).is_err(), "{state}: closed is closed");
            drop((registrations, nacos));
            no_task_is_left().await;
        })
        .await;
        let registry = proxy;
        registry.proxy.heal();
        registry.server().fault().thaw();
        registry.server().fault().clear_answers();
        wait_until(state, || registry.proxy.open() == 0).await;
        let witness = registry.witness().await;
        witness.sees("orders", &[]).await;
    }
}

async fn bring_into(state: &str, nacos: &NamingService, registry: &Registry) -> Vec<Registration> {
    let register = || service(nacos, "orders").register(mine(8080)).unwrap();
    match state {
        "connecting" => vec![register()],
        "connected" => {
            let registration = register();
            registration.confirmed().await.expect("it is registered");
            vec![registration]
        }
        "while it redoes" => {
            let many: Vec<_> =
                (0..200).map(|i| service(nacos, &format!("s{i}")).register(mine(8080)).unwrap()).collect();
            for registration in &many {
                registration.confirmed().await.expect("it is registered");
            }
            let connects = nacos.stats().connects;
            registry.server().fault().answers(AnswerFault::delay(Duration::from_millis(20)));
            registry.proxy.reset_connections();
            wait_until("it is connected anew", || nacos.stats().connects > connects).await;
            many
        }
        "server frozen" | "black hole" => {
            let registration = register();
            registration.confirmed().await.expect("it is registered");
            if state == "black hole" {
                registry.proxy.black_hole();
            } else {
                registry.server().fault().freeze();
            }
            vec![registration]
        }
        "server refuses everything" => {
            let registration = register();
            registration.confirmed().await.expect("it is registered");
            registry.server().fault().answers(AnswerFault::raised(500, "no"));
            vec![registration]
        }
        other => panic!("{other} is no state"),
    }
}
