//! That the server comes to hold exactly what is wished, whatever failed in between.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use nacos_client::{ConfirmError, Registration, RegistrationStatus, Select};
use nacos_proto::grpc;
use nacos_proto::grpc::{InstanceRequest, REGISTER};
use nacos_server_min::fault::AnswerFault;

use crate::support::client::{LONG, connected, mine, patient, ports, quick, service, told};
use crate::support::tap::{Said, Tap, tapped};
use crate::support::wait::{in_time, wait_until};
use crate::support::witness::foreign;
use crate::support::world::{Registry, World, in_every_world, in_our_worlds, unique};

in_every_world!(
    cg16_a_deregistration_made_in_an_outage_is_final,
    g08_the_newest_wish_is_what_is_said_again,
    g09_a_deregistration_that_could_not_be_said_leaves_no_zombie,
);

in_our_worlds!(
    cg15_a_thousand_registrations_and_subscriptions_are_restored,
    cg17_after_random_changes_and_faults_the_server_holds_what_is_wished,
    g02_a_registration_that_failed_after_a_restart_is_tried_until_it_succeeds,
);

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
    let (gone, let_go, kept) = (unique("gone"), unique("let-go"), unique("kept"));
    let withdrawn = service(&nacos, &gone).register(mine(8080)).unwrap();
    let dropped = service(&nacos, &let_go).register(mine(8081)).unwrap();
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
    witness.sees(&let_go, &[]).await;
    registry.proxy.reset_connections();
    wait_until("it is connected anew", || nacos.stats().connects >= 3).await;
    other.confirmed().await.expect("it is registered again");
    witness.sees(&gone, &[]).await;
    witness.sees(&let_go, &[]).await;
}

/// What kinds of instance requests were said, in order.
fn said_kinds(tap: &Tap) -> Vec<String> {
    let kind = |said: Said| said.payload.decode_json::<InstanceRequest>().unwrap().kind.unwrap();
    tap.said_of("InstanceRequest").into_iter().map(kind).collect()
}

#[tokio::test]
async fn cg16_a_deregistration_that_overtakes_its_registration_is_final() {
    let (registry, tap, nacos) = tapped(World::Standard).await;
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
    let (registry, tap, nacos) = tapped(World::Standard).await;
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

#[tokio::test]
async fn cg20_a_persistent_instance_that_an_operator_removed_stays_away() {
    let registry = World::Standard.registry().await;
    let nacos = patient(&registry);
    let registration = service(&nacos, "orders").register(mine(8080).persistent()).unwrap();
    registration.confirmed().await.expect("it is registered");
    let other = service(&nacos, "other").register(mine(8081)).unwrap();
    other.confirmed().await.expect("it is registered");
    let witness = registry.witness().await;
    // It does not depend on the connection.
    registry.proxy.reset_connections();
    wait_until("it is connected anew", || nacos.stats().connects == 2).await;
    other.confirmed().await.expect("it is registered again");
    witness.sees("orders", &[8080]).await;
    let removed = grpc::Instance { ip: Some("127.0.0.1".to_owned()), ..foreign(8080) };
    witness.remove_persistent("orders", removed).await;
    witness.sees("orders", &[]).await;
    registry.proxy.reset_connections();
    wait_until("it is connected anew", || nacos.stats().connects == 3).await;
    other.confirmed().await.expect("it is registered again");
    assert!(witness.instances("orders").await.is_empty());
}
