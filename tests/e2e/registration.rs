//! What the client wants registered, and how far it has come.

use std::time::Duration;

use nacos_client::{ConfirmError, NamingService, Registration, RegistrationStatus, Select, ServiceHandle};
use nacos_proto::code;
use nacos_server_min::fault::AnswerFault;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::support::client::{LONG, connected, failures, mine, on_a_runtime_of_its_own, patient, quick, service, told};
use crate::support::wait::{in_time, wait_until};
use crate::support::world::{Registry, World, in_every_world, in_our_worlds, unique};

in_every_world!(
    cg14_a_registration_made_while_disconnected_is_acknowledged_after_the_connection_is_up,
    cg19_instances_registered_from_many_tasks_are_all_there,
    cg21_dropping_a_registration_or_its_client_removes_the_instance,
    g07_a_second_instance_of_a_service_does_not_replace_the_first,
);

in_our_worlds!(
    cg18_an_entry_that_the_server_refuses_delays_no_other,
    g23_an_application_can_see_that_it_is_not_registered_and_why,
);

async fn cg14_a_registration_made_while_disconnected_is_acknowledged_after_the_connection_is_up(world: World) {
    let mut registry = world.registry().await;
    let nacos = patient(&registry);
    connected(&nacos).await;
    registry.goes_down().await;
    wait_until("the loss is noticed", || !nacos.status().current().is_connected()).await;
    let orders = unique("orders");
    let registration = service(&nacos, &orders).register(mine(8080)).unwrap();
    assert_eq!(registration.status(), RegistrationStatus::Pending);
    let confirmed = tokio::spawn(async move {
        registration.confirmed().await.expect("acknowledged");
        registration
    });
    wait_until("it has tried again", || failures(&nacos) > 1).await;
    registry.comes_up().await;
    let registration = in_time("the acknowledgement", confirmed).await.unwrap();
    assert_eq!(registration.status(), RegistrationStatus::Confirmed);
    registry.witness().await.sees(&orders, &[8080]).await;
}

async fn cg18_an_entry_that_the_server_refuses_delays_no_other(world: World) {
    let registry = world.registry().await;
    let nacos = patient(&registry);
    let server = registry.server();
    let refusals = [
        AnswerFault::typed(code::INVALID_PARAM, "bad").service("bad-400"),
        AnswerFault::raised(code::INVALID_PARAM, "bad").service("raised-400"),
        AnswerFault::typed(code::NO_RIGHT, "denied").service("denied-403"),
        AnswerFault::typed(code::FAIL, "broken").service("broken-500"),
        AnswerFault::error(code::OVER_THRESHOLD, "busy").service("busy-503"),
    ];
    let names = ["bad-400", "raised-400", "denied-403", "broken-500", "busy-503"];
    for refusal in refusals {
        server.fault().answers(refusal);
    }
    let ill: Vec<Registration> = names.map(|name| service(&nacos, name).register(mine(8080)).unwrap()).into();
    let well: Vec<Registration> =
        (0..50).map(|i| service(&nacos, &format!("good-{i}")).register(mine(9000 + i)).unwrap()).collect();
    for registration in &well {
        registration.confirmed().await.expect("it is none of its business");
    }
    for (registration, name) in ill.iter().zip(names) {
        wait_until("the refusal is seen", || match (registration.status(), name) {
            (RegistrationStatus::Refused(refusal), "bad-400" | "raised-400") => refusal.code == code::INVALID_PARAM,
            (RegistrationStatus::Refused(refusal), "denied-403") => refusal.code == code::NO_RIGHT,
            (RegistrationStatus::Failing { attempts, last_error, .. }, "broken-500") => {
                attempts > 1 && last_error.contains("broken") && last_error.contains("500")
            }
            (RegistrationStatus::Failing { attempts, last_error, .. }, "busy-503") => {
                attempts > 1 && last_error.contains("busy") && last_error.contains("503")
            }
            _ => false,
        })
        .await;
    }
    let refused = ill[0].confirmed().await.expect_err("the server refuses");
    assert!(matches!(&refused, ConfirmError::Refused(refusal) if refusal.code == code::INVALID_PARAM), "{refused:?}");
    let denied = ill[2].confirmed().await.expect_err("the server denies");
    assert!(matches!(&denied, ConfirmError::Denied(refusal) if refusal.code == code::NO_RIGHT), "{denied:?}");
    server.fault().clear_answers();
    // What fails is tried by itself; a refusal is forgotten with a change.
    for registration in ill.iter().take(3) {
        registration.update(|instance| instance.weight(2.0)).unwrap();
    }
    for registration in &ill {
        registration.confirmed().await.expect("the cause is gone");
    }
    assert_eq!(nacos.stats().connects, 1, "a refusal is no reason to leave: {:?}", nacos.stats());
}

/// What is left of several instances of one service where the server takes only one: a clear error, and the first of them.
async fn only_the_first_is_supported(registry: &Registry, handle: &ServiceHandle) {
    let first = handle.register(mine(8080)).unwrap();
    first.confirmed().await.expect("it is registered");
    let second = handle.register(mine(8081)).unwrap();
    let error = second.confirmed().await.expect_err("it is one too many");
    assert!(matches!(error, ConfirmError::Unsupported { needs: "2.1.1" }), "{error:?}");
    let witness = registry.witness().await;
    witness.sees(handle.key().name(), &[8080]).await;
    first.withdraw().await.expect("it is gone");
    second.confirmed().await.expect("it is the only one now");
    witness.sees(handle.key().name(), &[8081]).await;
}

async fn cg19_instances_registered_from_many_tasks_are_all_there(world: World) {
    const TASKS: u16 = 64;
    let registry = world.registry().await;
    let nacos = patient(&registry);
    let orders = unique("orders");
    let handle = service(&nacos, &orders);
    if !registry.takes_batches().await {
        return only_the_first_is_supported(&registry, &handle).await;
    }
    let before = nacos.stats().writes;
    let mut tasks = JoinSet::new();
    for port in 1..=TASKS {
        let handle = handle.clone();
        tasks.spawn(async move {
            let registration = handle.register(mine(port)).unwrap();
            registration.confirmed().await.expect("it is registered");
            registration
        });
    }
    let mut registrations = in_time("all are registered", tasks.join_all()).await;
    registrations.sort_by_key(|registration| registration.instance().unwrap().port);
    assert!(nacos.stats().writes - before <= 20, "they are sent together: {:?}", nacos.stats());
    let witness = registry.witness().await;
    let all: Vec<i32> = (1..=i32::from(TASKS)).collect();
    witness.sees(&orders, &all).await;
    // The cluster is part of what an instance is.
    let elsewhere = handle.register(mine(1).cluster("elsewhere")).unwrap();
    elsewhere.confirmed().await.expect("it is registered");
    let with_twin: Vec<i32> = std::iter::once(1).chain(all.iter().copied()).collect();
    witness.sees(&orders, &with_twin).await;
    registrations.remove(0).withdraw().await.expect("it is gone");
    witness
        .sees_that(&orders, "the twin stays", |list| {
            list.iter().filter(|i| i.port == 1).all(|i| i.cluster_name.as_deref() == Some("elsewhere"))
                && list.len() == usize::from(TASKS)
        })
        .await;
    drop(registrations.remove(0));
    let rest: Vec<i32> = all.into_iter().filter(|port| *port != 2).collect();
    witness.sees(&orders, &rest).await;
    // And all of them after a reconnection.
    registry.proxy.reset_connections();
    wait_until("it is connected anew", || nacos.stats().connects >= 2).await;
    for registration in &registrations {
        registration.confirmed().await.expect("it is registered again");
    }
    witness.sees(&orders, &rest).await;
}

async fn cg21_dropping_a_registration_or_its_client_removes_the_instance(world: World) {
    let registry = world.registry().await;
    let witness = registry.witness().await;
    let orders = unique("orders");
    let nacos = patient(&registry);
    let registration = service(&nacos, &orders).register(mine(8080)).unwrap();
    registration.confirmed().await.expect("it is registered");
    witness.sees(&orders, &[8080]).await;
    drop(registration);
    witness.sees(&orders, &[]).await;

    // `keep` lets go of the handle, not of the wish; it goes with the client.
    let registration = service(&nacos, &orders).register(mine(8081)).unwrap();
    registration.confirmed().await.expect("it is registered");
    registration.keep();
    witness.sees(&orders, &[8081]).await;
    drop(nacos);
    witness.sees(&orders, &[]).await;
}

#[tokio::test]
async fn cg21_the_end_of_the_runtime_removes_the_instance() {
    let registry = World::Standard.registry().await;
    let witness = registry.witness().await;
    let config = registry.config().timeouts(quick());
    let nacos = on_a_runtime_of_its_own(move || async move {
        let nacos = config.build().unwrap();
        let registration = service(&nacos, "orders").register(mine(8080)).unwrap();
        registration.confirmed().await.expect("it is registered");
        (nacos, registration)
    })
    .await;
    // The runtime is gone with everything that ran on it; the handles are still held.
    witness.sees("orders", &[]).await;
    drop(nacos);
}

/// Not a test: what a child process runs in `cg21_the_kill_of_the_process_removes_the_instance`.
#[tokio::test]
#[ignore = "run as a child process by another test"]
async fn a_provider_that_waits_to_be_killed() {
    let server = std::env::var("E2E_PROVIDER_OF").expect("run by its parent");
    let nacos = NamingService::builder().servers([server]).timeouts(quick()).build().unwrap();
    let registration = service(&nacos, "orders").register(mine(8080)).unwrap();
    registration.confirmed().await.expect("it is registered");
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn cg21_the_kill_of_the_process_removes_the_instance() {
    let registry = World::Standard.registry().await;
    let witness = registry.witness().await;
    let mut child = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "registration::a_provider_that_waits_to_be_killed", "--ignored"])
        .env("E2E_PROVIDER_OF", registry.entry())
        .stdout(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    witness.sees("orders", &[8080]).await;
    child.kill().await.unwrap();
    witness.sees("orders", &[]).await;
}

async fn g07_a_second_instance_of_a_service_does_not_replace_the_first(world: World) {
    let registry = world.registry().await;
    let witness = registry.witness().await;
    let nacos = patient(&registry);
    let orders = unique("orders");
    let handle = service(&nacos, &orders);
    if !registry.takes_batches().await {
        return only_the_first_is_supported(&registry, &handle).await;
    }
    let first = handle.register(mine(8080)).unwrap();
    first.confirmed().await.expect("it is registered");
    let second = handle.register(mine(8081)).unwrap();
    second.confirmed().await.expect("it is registered");
    first.confirmed().await.expect("it still is");
    witness.sees(&orders, &[8080, 8081]).await;
    registry.proxy.reset_connections();
    wait_until("it is connected anew", || nacos.stats().connects >= 2).await;
    second.confirmed().await.expect("it is registered again");
    witness.sees(&orders, &[8080, 8081]).await;
    first.withdraw().await.expect("it is gone");
    witness.sees(&orders, &[8081]).await;
    // The same by the names known from other clients.
    nacos.register_instance(&*orders, mine(8082)).await.expect("it is registered");
    nacos.batch_register_instance(&*orders, vec![mine(8083), mine(8084)]).await.expect("they are registered");
    witness.sees(&orders, &[8081, 8082, 8083, 8084]).await;
    nacos.deregister_instance(&*orders, &mine(8082)).await.expect("it is gone");
    nacos.batch_deregister_instance(&*orders, [mine(8083)]).await.expect("it is gone");
    witness.sees(&orders, &[8081, 8084]).await;
    drop(second);
    witness.sees(&orders, &[8084]).await;
}

async fn g23_an_application_can_see_that_it_is_not_registered_and_why(world: World) {
    let registry = world.registry().await;
    let nacos = registry.config().timeouts(quick()).deadline(Duration::from_millis(300)).build().unwrap();
    registry.server().fault().answers(AnswerFault::typed(500, "out of order").request("InstanceRequest"));
    let registration = service(&nacos, "orders").register(mine(8080)).unwrap();
    assert_eq!(registration.status(), RegistrationStatus::Pending);
    let begun = std::time::Instant::now();
    let mut status = registration.status();
    let mut attempts = Vec::new();
    while attempts.len() < 3 {
        status = in_time("the next status", registration.status_changed(&status)).await.unwrap();
        let RegistrationStatus::Failing { attempts: so_far, since, last_error } = &status else { panic!("{status:?}") };
        assert!(last_error.contains("out of order") && last_error.contains("500"), "{last_error}");
        assert!(*since >= begun, "since it was asked for");
        attempts.push(*so_far);
    }
    assert!(attempts.is_sorted_by(|a, b| a < b), "{attempts:?}");
    let error = registration.confirmed().await.expect_err("it is not registered");
    let ConfirmError::Deadline { last_error: Some(last), .. } = &error else { panic!("{error:?}") };
    assert!(last.contains("out of order"), "{last}");
    let stats = nacos.stats();
    assert_eq!((stats.redo_backlog, stats.connects), (1, 1), "{stats:?}");
    assert!(stats.writes_failed >= 3, "{stats:?}");
    registry.server().fault().clear_answers();
    registration.confirmed_within(LONG).await.expect("it is registered");
    assert_eq!((registration.status(), nacos.stats().redo_backlog), (RegistrationStatus::Confirmed, 0));
    registry.witness().await.sees("orders", &[8080]).await;
}

#[tokio::test]
async fn t07_nothing_on_the_way_from_a_registration_to_its_subscriber_waits_for_a_fixed_time() {
    // A pause of 100 ms anywhere on the way would take longer than everything may: by far too much for one slow machine.
    const ROUNDS: u16 = 200;
    let registry = World::Standard.registry().await;
    let (provider, consumer) = (patient(&registry), patient(&registry));
    let mut changes = service(&consumer, "orders").subscribe(Select::all());
    told(&mut changes, "the empty list", |list| list.is_empty()).await;
    let begun = Instant::now();
    let mut registrations = Vec::new();
    for port in 1..=ROUNDS {
        registrations.push(service(&provider, "orders").register(mine(port)).unwrap());
        told(&mut changes, "the new instance", |list| list.len() == usize::from(port)).await;
    }
    assert!(begun.elapsed() < Duration::from_millis(100) * u32::from(ROUNDS), "{:?}", begun.elapsed());
}
