//! What the client wants registered, and that the server comes to hold exactly that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use nacos_client::{ConfirmError, Instance, NamingService, Registration, RegistrationStatus, Select, ServiceHandle};
use nacos_proto::code;
use nacos_proto::grpc::{self, InstanceRequest, REGISTER};
use nacos_server_min::fault::AnswerFault;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::support::client::{
    LONG, connected, failures, mine, no_task_is_left, on_a_runtime_of_its_own, ports, quick, told,
};
use crate::support::tap::{Said, Tap};
use crate::support::wait::{in_time, wait_until};
use crate::support::witness::{Witness, foreign};
use crate::support::world::{Registry, World, in_every_world, in_our_worlds, unique};

in_every_world!(
    cg14_a_registration_made_while_disconnected_is_acknowledged_after_the_connection_is_up,
    cg16_a_deregistration_made_in_an_outage_is_final,
    cg19_instances_registered_from_many_tasks_are_all_there,
    cg21_dropping_a_registration_or_its_client_removes_the_instance,
    g07_a_second_instance_of_a_service_does_not_replace_the_first,
    g08_the_newest_wish_is_what_is_said_again,
    g09_a_deregistration_that_could_not_be_said_leaves_no_zombie,
);

in_our_worlds!(
    cg15_a_thousand_registrations_and_subscriptions_are_restored,
    cg17_after_random_changes_and_faults_the_server_holds_what_is_wished,
    cg18_an_entry_that_the_server_refuses_delays_no_other,
    g02_a_registration_that_failed_after_a_restart_is_tried_until_it_succeeds,
    g21_registering_updating_and_closing_from_many_tasks_ends,
    g23_an_application_can_see_that_it_is_not_registered_and_why,
    t03_closing_ends_in_every_state,
);

/// A client whose deadlines are of no concern.
fn patient(registry: &Registry) -> NamingService {
    registry.config().timeouts(quick()).build().unwrap()
}

fn service(nacos: &NamingService, name: &str) -> ServiceHandle {
    nacos.service(name).unwrap()
}

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

async fn cg15_a_thousand_registrations_and_subscriptions_are_restored(world: World) {
    const MANY: u16 = 1000;
    let mut registry = world.registry().await;
    let nacos = patient(&registry);
    let names: Vec<String> = (0..MANY).map(|i| format!("s{i}")).collect();
    let mut registrations = Vec::new();
    let mut changes = Vec::new();
    for (name, port) in names.iter().zip(1..) {
        registrations.push(service(&nacos, name).register(mine(port)).unwrap());
        changes.push(service(&nacos, name).subscribe(Select::all()));
    }
    for registration in &registrations {
        registration.confirmed().await.expect("it is registered");
    }
    registry.goes_down().await;
    registry.comes_up().await;
    registry.server().fault().answers(AnswerFault::delay(Duration::from_millis(2)));
    wait_until("everything is registered and subscribed", || {
        let all = registry.server().connections();
        all.iter().any(|c| (c.published, c.subscribed) == (usize::from(MANY), usize::from(MANY)))
    })
    .await;
    for registration in &registrations {
        registration.confirmed().await.expect("it is registered again");
    }
    // The subscriptions are alive: a second instance in each service is told.
    let witness = registry.witness().await;
    for name in names.iter().step_by(100) {
        witness.register(name, foreign(9999)).await;
    }
    for (changes, port) in changes.iter_mut().zip(1..).step_by(100) {
        told(changes, "both instances", |list| ports(list) == [port, 9999]).await;
    }
    assert_eq!(nacos.stats().redo_backlog, 0);
}

async fn cg16_a_deregistration_made_in_an_outage_is_final(world: World) {
    let mut registry = world.registry().await;
    let nacos = patient(&registry);
    let (gone, kept) = (unique("gone"), unique("kept"));
    let withdrawn = service(&nacos, &gone).register(mine(8080)).unwrap();
    let dropped = service(&nacos, &gone).register(mine(8081)).unwrap();
    let other = service(&nacos, &kept).register(mine(8082)).unwrap();
    for registration in [&withdrawn, &dropped, &other] {
        registration.confirmed().await.expect("it is registered");
    }
    registry.goes_down().await;
    wait_until("the loss is noticed", || !nacos.status().current().is_connected()).await;
    drop(dropped);
    // What the lost connection held went with it, so there is nothing to wait for.
    in_time("the withdrawal", withdrawn.withdraw()).await.expect("nothing holds it any more");
    registry.comes_up().await;
    let witness = registry.witness().await;
    // The one that stayed is the sign that everything was said again.
    witness.sees(&kept, &[8082]).await;
    other.confirmed().await.expect("it is registered again");
    witness.sees(&gone, &[]).await;
    registry.proxy.reset_connections();
    wait_until("it is connected anew", || nacos.stats().connects >= 3).await;
    other.confirmed().await.expect("it is registered again");
    witness.sees(&gone, &[]).await;
}

/// A registry behind a tap, and a client of it.
async fn tapped() -> (Registry, Tap, NamingService) {
    let registry = World::Standard.registry().await;
    let tap = Tap::to(registry.grpc()).await;
    let nacos = NamingService::builder().servers([tap.entry()]).timeouts(quick()).build().unwrap();
    (registry, tap, nacos)
}

/// What kinds of instance requests were said, in order.
fn said_kinds(tap: &Tap) -> Vec<String> {
    let kind = |said: Said| said.payload.decode_json::<InstanceRequest>().unwrap().kind.unwrap();
    tap.said_of("InstanceRequest").into_iter().map(kind).collect()
}

#[tokio::test]
async fn cg16_a_deregistration_that_overtakes_its_registration_is_final() {
    let (registry, tap, nacos) = tapped().await;
    let orders = service(&nacos, "orders");
    // The registration is under way when it is withdrawn: its answer is not there yet.
    registry
        .server()
        .fault()
        .answers(AnswerFault::delay(Duration::from_millis(300)).request("InstanceRequest").times(1));
    let registration = orders.register(mine(8080)).unwrap();
    wait_until("the registration is under way", || tap.count("InstanceRequest") == 1).await;
    registration.withdraw().await.expect("the server has acknowledged");
    let witness = registry.witness().await;
    assert!(witness.instances("orders").await.is_empty());
    assert_eq!(said_kinds(&tap), ["registerInstance", "deregisterInstance"]);
    // A failed answer does not bring it back either.
    registry.server().fault().answers(AnswerFault::typed(500, "broken").request("InstanceRequest").times(3));
    let registration = orders.register(mine(8081)).unwrap();
    wait_until("it fails", || matches!(registration.status(), RegistrationStatus::Failing { .. })).await;
    registration.withdraw().await.expect("the server has acknowledged");
    assert!(witness.instances("orders").await.is_empty());
    assert_eq!(nacos.stats().redo_backlog, 0);
}

#[tokio::test]
async fn cg16_no_register_is_said_after_a_deregistration() {
    let (registry, tap, nacos) = tapped().await;
    let orders = service(&nacos, "orders");
    let registration = orders.register(mine(8080)).unwrap();
    registration.confirmed().await.expect("it is registered");
    registry.server().fault().answers(AnswerFault::typed(500, "not now").request("InstanceRequest").times(2));
    registration.withdraw().await.expect("acknowledged in the end");
    // Reconnections are the moments at which a zombie would be born.
    for round in 1..=3 {
        registry.server().fault().kill_connections();
        wait_until("it is connected anew", || nacos.stats().connects == round + 1).await;
        let other = service(&nacos, "other").register(mine(9000)).unwrap();
        other.confirmed().await.expect("what is wanted is registered");
        other.withdraw().await.expect("the server answers");
    }
    let kinds: Vec<String> = tap
        .said_of("InstanceRequest")
        .into_iter()
        .map(|said| said.payload.decode_json::<InstanceRequest>().unwrap())
        .filter(|request| request.service_name.as_deref() == Some("orders"))
        .map(|request| request.kind.unwrap())
        .collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == REGISTER).count(), 1, "{kinds:?}");
    assert!(registry.witness().await.instances("orders").await.is_empty());
}

/// The model of what one client wants: by service, the port and the weight of each instance.
type Wanted = BTreeMap<String, BTreeMap<i32, i64>>;

async fn cg17_after_random_changes_and_faults_the_server_holds_what_is_wished(world: World) {
    const SERVICES: usize = 6;
    const PORTS: u16 = 4;
    let seed = match world {
        World::Nacos25 { seed } => seed,
        _ => 4,
    };
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut registry = world.registry().await;
    let nacos = registry.config().timeouts(quick()).deadline(Duration::from_millis(50)).build().unwrap();
    let mut wanted = Wanted::new();
    let mut registrations: BTreeMap<(String, u16), Registration> = BTreeMap::new();
    for step in 0..300 {
        let (name, port) = (format!("s{}", rng.usize(..SERVICES)), rng.u16(1..=PORTS));
        let weight = rng.u32(1..=100);
        let handle = service(&nacos, &name);
        match (rng.u8(..10), registrations.contains_key(&(name.clone(), port))) {
            (0..6, false) => {
                let registration = handle.register(mine(port).weight(f64::from(weight))).unwrap();
                registrations.insert((name.clone(), port), registration);
                wanted.entry(name).or_default().insert(port.into(), weight.into());
            }
            (0..5, true) => {
                let registration = registrations.get(&(name.clone(), port)).unwrap();
                registration.update(|instance| instance.weight(f64::from(weight))).unwrap();
                wanted.entry(name).or_default().insert(port.into(), weight.into());
            }
            (5..8, true) => {
                let registration = registrations.remove(&(name.clone(), port)).unwrap();
                wanted.entry(name).or_default().remove(&port.into());
                if rng.bool() {
                    // Dropped at some point of its wait: the wish is gone all the same.
                    drop(tokio::time::timeout(Duration::from_millis(rng.u64(..5)), registration.withdraw()).await);
                }
            }
            _ => tokio::task::yield_now().await,
        }
        if step % 10 == 0 {
            trouble(&mut registry, &mut rng).await;
        }
    }
    registry.server().fault().clear_answers();
    registry.proxy.heal();
    registry.proxy.accept().await;
    let witness = registry.witness().await;
    for index in 0..SERVICES {
        let name = format!("s{index}");
        let wished = wanted.remove(&name).unwrap_or_default();
        let what = format!("seed {seed}: {name} holds {wished:?}");
        witness
            .sees_that(&name, &what, |all| {
                all.len() == wished.len() && all.iter().all(|i| wished.get(&i.port).is_some_and(|w| weight_is(i, *w)))
            })
            .await;
    }
    for registration in registrations.values() {
        registration.confirmed_within(LONG).await.expect("acknowledged");
    }
}

fn weight_is(instance: &grpc::Instance, weight: i64) -> bool {
    instance.weight.to_string() == weight.to_string()
}

/// One fault of network or server, for a while or until the next one.
async fn trouble(registry: &mut Registry, rng: &mut fastrand::Rng) {
    match rng.u8(..7) {
        0 => registry.proxy.reset_connections(),
        1 => {
            registry.goes_down().await;
            registry.comes_up().await;
        }
        2 => registry.server().fault().answers(AnswerFault::typed(500, "by chance").share(0.4)),
        3 => registry.server().fault().answers(AnswerFault::raised(503, "by chance").share(0.4)),
        4 => registry.server().fault().answers(AnswerFault::delay(Duration::from_millis(rng.u64(1..40))).share(0.5)),
        5 => drop(registry.server().fault().kill_connections()),
        _ => registry.server().fault().clear_answers(),
    }
    if rng.bool() {
        // Lets something happen before the next change.
        tokio::time::sleep(Duration::from_millis(rng.u64(1..20))).await;
    }
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

async fn cg19_instances_registered_from_many_tasks_are_all_there(world: World) {
    const TASKS: u16 = 64;
    let registry = world.registry().await;
    let nacos = patient(&registry);
    let orders = unique("orders");
    let handle = service(&nacos, &orders);
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

async fn g02_a_registration_that_failed_after_a_restart_is_tried_until_it_succeeds(world: World) {
    const MANY: u16 = 1000;
    let mut registry = world.registry().await;
    let nacos = patient(&registry);
    let registrations: Vec<Registration> =
        (1..=MANY).map(|port| service(&nacos, &format!("s{}", port % 500)).register(mine(port)).unwrap()).collect();
    for registration in &registrations {
        registration.confirmed().await.expect("it is registered");
    }
    registry.goes_down().await;
    registry.comes_up().await;
    let fault = registry.server().fault();
    fault.answers(AnswerFault::typed(500, "by chance").request("InstanceRequest").share(0.1));
    fault.answers(AnswerFault::error(500, "by chance").request("BatchInstanceRequest").share(0.1));
    // Where each of them stands can be seen all the time.
    let mut seen = BTreeSet::new();
    wait_until("failures are seen, and most have succeeded", || {
        for registration in &registrations {
            seen.insert(match registration.status() {
                RegistrationStatus::Pending => "pending",
                RegistrationStatus::Confirmed => "confirmed",
                RegistrationStatus::Failing { .. } => "failing",
                other => panic!("{other:?}"),
            });
        }
        seen.contains("failing") && seen.contains("confirmed")
    })
    .await;
    fault.clear_answers();
    for registration in &registrations {
        registration.confirmed().await.expect("it is registered in the end");
    }
    let published: usize = registry.server().connections().iter().map(|c| c.published).sum();
    assert_eq!(published, 500);
    let witness = registry.witness().await;
    for port in [1, 250, 500] {
        witness.sees(&format!("s{}", port % 500), &[port, port + 500]).await;
    }
    assert_eq!(nacos.stats().redo_backlog, 0);
}

async fn g07_a_second_instance_of_a_service_does_not_replace_the_first(world: World) {
    let registry = world.registry().await;
    let witness = registry.witness().await;
    let nacos = patient(&registry);
    let orders = unique("orders");
    let handle = service(&nacos, &orders);
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

async fn g08_the_newest_wish_is_what_is_said_again(world: World) {
    let mut registry = world.registry().await;
    let nacos = patient(&registry);
    let orders = unique("orders");
    let first = mine(8080).weight(1.0).metadata("version", "v1").metadata("old", "yes");
    let registration = service(&nacos, &orders).register(first).unwrap();
    registration.confirmed().await.expect("it is registered");
    let newer = |_| mine(8080).weight(5.0).metadata("version", "v2");
    registration.update(newer).unwrap();
    registration.confirmed().await.expect("it is updated");
    let is_newest = |weight: i64, version: &'static str| {
        move |all: &[grpc::Instance]| match all {
            [one] => {
                weight_is(one, weight)
                    && one.metadata.get("version").map(String::as_str) == Some(version)
                    && one.metadata.get("old").is_none()
            }
            _ => false,
        }
    };
    registry.witness().await.sees_that(&orders, "the update", is_newest(5, "v2")).await;
    registry.goes_down().await;
    registry.comes_up().await;
    registry.witness().await.sees_that(&orders, "the update after a restart", is_newest(5, "v2")).await;
    // An update made in the outage is what is said afterwards.
    registration.confirmed().await.expect("it is registered again");
    registry.goes_down().await;
    wait_until("the loss is noticed", || !nacos.status().current().is_connected()).await;
    registration.update(|instance| instance.weight(7.0).metadata("version", "v3")).unwrap();
    registry.comes_up().await;
    registry.witness().await.sees_that(&orders, "the newest update", is_newest(7, "v3")).await;
    registration.confirmed().await.expect("it is registered again");
    // A move to another port leaves nothing behind.
    registration
        .update(|mut instance| {
            instance.port = 8090;
            instance
        })
        .unwrap();
    registration.confirmed().await.expect("it is registered at its new port");
    let witness = registry.witness().await;
    witness.sees(&orders, &[8090]).await;
    registry.proxy.reset_connections();
    wait_until("it is connected anew", || nacos.stats().connects >= 4).await;
    registration.confirmed().await.expect("it is registered again");
    witness.sees(&orders, &[8090]).await;
}

async fn g09_a_deregistration_that_could_not_be_said_leaves_no_zombie(world: World) {
    let registry = world.registry().await;
    let witness = registry.witness().await;
    let nacos = registry.config().timeouts(quick()).deadline(Duration::from_millis(200)).build().unwrap();
    let (gone, kept) = (unique("gone"), unique("kept"));
    let registration = service(&nacos, &gone).register(mine(8080)).unwrap();
    let other = service(&nacos, &kept).register(mine(8081)).unwrap();
    for registration in [&registration, &other] {
        registration.confirmed_within(LONG).await.expect("it is registered");
    }
    witness.sees(&gone, &[8080]).await;
    registry.proxy.black_hole();
    // Nobody answers, and the loss is not noticed yet: the call fails, the wish is gone.
    let error = in_time("the withdrawal", registration.withdraw()).await;
    assert!(matches!(error, Ok(()) | Err(ConfirmError::Deadline { .. })), "{error:?}");
    wait_until("the loss is noticed", || !nacos.status().current().is_connected()).await;
    registry.proxy.reset_connections();
    registry.proxy.heal();
    connected(&nacos).await;
    other.confirmed_within(LONG).await.expect("what is wanted is said again");
    witness.sees(&kept, &[8081]).await;
    witness.sees(&gone, &[]).await;
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

#[tokio::test]
async fn cg07_a_dropped_call_leaves_its_wish_whole_or_not_at_all() {
    let (registry, tap, nacos) = tapped().await;
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
