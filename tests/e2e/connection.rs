//! Losing connections and getting new ones.

use std::time::Duration;

use nacos_client::{ConnectionStatus, NamingService, QueryError, Select, Timeouts};
use nacos_proto::code;
use nacos_server_min::fault::AnswerFault;

use crate::support::client::{LONG, connected, connects_and_losses, disconnected, mine, ports, quick, told};
use crate::support::proxy::{Flow, Way};
use crate::support::tap::Tap;
use crate::support::wait::{in_time, wait_until};
use crate::support::witness::{Witness, foreign};
use crate::support::world::{Registry, World, id_of_the_client, in_every_world, in_our_worlds, serves, unique};

in_every_world!(
    cg09_a_reset_link_is_replaced_and_everything_is_back,
    g01_a_half_dead_link_is_noticed_and_everything_is_back,
);

in_our_worlds!(cg09_a_frozen_server_is_left_for_another_one, g03_a_server_that_forgot_the_connection_gets_a_new_one,);

async fn cg09_a_reset_link_is_replaced_and_everything_is_back(world: World) {
    let registry = world.registry().await;
    let nacos = registry.client();
    let (own, other) = (unique("own"), unique("other"));
    let registration = nacos.service(&own).unwrap().register(mine(8080)).unwrap();
    registration.confirmed_within(LONG).await.expect("it is registered");
    let mut changes = nacos.service(&other).unwrap().subscribe(Select::all());
    told(&mut changes, "the empty list", |list| list.is_empty()).await;
    let witness = registry.witness().await;
    for (round, port) in (1..=3).zip(9090..) {
        if round == 2 {
            registry.proxy.close_connections();
        } else {
            registry.proxy.reset_connections();
        }
        wait_until("it is connected anew", || connects_and_losses(&nacos) == (round + 1, round)).await;
        witness.sees(&own, &[8080]).await;
        witness.register(&other, foreign(port)).await;
        told(&mut changes, "what was registered since", |list| ports(list) == [u16::try_from(port).unwrap()]).await;
    }
    assert_eq!(nacos.stats().lost_transport, 3, "{:?}", nacos.stats());
}

#[tokio::test]
async fn cg09_a_stream_that_ends_alone_ends_the_connection() {
    let registry = World::Standard.registry().await;
    let tap = Tap::to(registry.grpc()).await;
    let nacos = NamingService::builder().servers([tap.entry()]).build().unwrap();
    let registration = nacos.service("orders").unwrap().register(mine(8080)).unwrap();
    registration.confirmed_within(LONG).await.expect("it is registered");
    // Only the stream, for its connection would go on to answer calls.
    tap.end_streams();
    wait_until("it is connected anew", || nacos.stats().connects == 2).await;
    registration.confirmed_within(LONG).await.expect("it is registered again");
    registry.witness().await.sees("orders", &[8080]).await;
    assert_eq!(tap.count("ConnectionSetupRequest"), 2);
}

async fn cg09_a_frozen_server_is_left_for_another_one(world: World) {
    let (first, second) = (world.registry().await, world.registry().await);
    let nacos = NamingService::builder().servers([first.entry(), second.entry()]).timeouts(quick()).build().unwrap();
    let registration = nacos.service("orders").unwrap().register(mine(8080)).unwrap();
    registration.confirmed().await.expect("it is registered");
    for round in 1..=2 {
        let (left, taken) = if serves(&first) { (&first, &second) } else { (&second, &first) };
        left.server().fault().freeze();
        wait_until("it is with the other server", || serves(taken)).await;
        registration.confirmed().await.expect("it is registered again");
        taken.witness().await.sees("orders", &[8080]).await;
        assert_eq!(nacos.stats().lost_unanswered, round, "{:?}", nacos.stats());
        left.server().fault().thaw();
        wait_until("the thawed server sees that it was left", || !serves(left)).await;
    }
}

/// What a witness that is connected the whole time sees of the service.
#[tokio::test]
async fn cg09_a_second_client_does_not_notice_the_troubles_of_the_first() {
    let registry = World::Standard.registry().await;
    let nacos = registry.client();
    let registration = nacos.service("orders").unwrap().register(mine(8080)).unwrap();
    registration.confirmed_within(LONG).await.expect("it is registered");
    let quiet = NamingService::builder().servers([registry.server().server_addr()]).build().unwrap();
    let mut changes = quiet.service("orders").unwrap().subscribe(Select::all());
    told(&mut changes, "the list", |list| ports(list) == [8080]).await;
    registry.proxy.reset_connections();
    wait_until("the first is connected anew", || nacos.stats().connects == 2).await;
    registration.confirmed_within(LONG).await.expect("it is registered again");
    let witness: Witness = registry.witness().await;
    witness.sees("orders", &[8080]).await;
    assert_eq!(connects_and_losses(&quiet), (1, 0));
}

#[tokio::test]
async fn cg10_killing_one_of_three_servers_costs_no_call() {
    let mut registries = Vec::new();
    for _ in 0..3 {
        registries.push(World::Standard.registry().await);
    }
    let entries: Vec<String> = registries.iter().map(Registry::entry).collect();
    let nacos = NamingService::builder().servers(entries).build().unwrap();
    connected(&nacos).await;
    let ConnectionStatus::Connected { peer, .. } = nacos.status().current() else { panic!("it is connected") };
    let used = registries.iter().position(|r| r.proxy.address().to_string() == peer).expect("one of the three");
    let orders = nacos.service("orders").unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for round in 0..300_u16 {
        if round == 30 {
            registries[used].goes_down().await;
        }
        let (orders, nacos) = (orders.clone(), nacos.clone());
        calls.spawn(async move {
            if round % 2 == 0 {
                orders.query().await.map(drop).map_err(|e| e.to_string())
            } else {
                nacos.register_instance(("group", &*format!("s{round}")), mine(round)).await.map_err(|e| e.to_string())
            }
        });
        // Calls go on arriving while the loss is noticed and another server is found.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let results = in_time("all calls end", calls.join_all()).await;
    let failed: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert!(nacos.stats().connects >= 2);
}

async fn g01_a_half_dead_link_is_noticed_and_everything_is_back(world: World) {
    let registry = world.registry().await;
    let nacos = registry.config().timeouts(quick()).build().unwrap();
    let own = unique("own");
    let registration = nacos.service(&own).unwrap().register(mine(8080)).unwrap();
    registration.confirmed().await.expect("it is registered");
    let mut changes = nacos.service(&own).unwrap().subscribe(Select::all());
    told(&mut changes, "itself", |list| ports(list) == [8080]).await;
    let witness = registry.witness().await;
    for (round, ways) in (1..).zip([&[Way::ToServer, Way::ToClient][..], &[Way::ToServer], &[Way::ToClient]]) {
        let mut watch = nacos.status();
        let before = watch.current();
        assert!(before.is_connected());
        for way in ways {
            registry.proxy.flow(*way, Flow::BlackHole);
        }
        let lost = in_time("the loss is told", watch.changed(&before)).await;
        assert!(matches!(lost, ConnectionStatus::Disconnected { .. }), "{ways:?}: {lost:?}");
        // Nothing gets through to the server either: what it holds of the dead connection is its own affair.
        registry.proxy.heal();
        connected(&nacos).await;
        registration.confirmed().await.expect("it is registered again");
        wait_until("one loss and one connection per round", || connects_and_losses(&nacos) == (round + 1, round)).await;
        witness.sees(&own, &[8080]).await;
    }
    told(&mut changes, "itself, after all that", |list| ports(list) == [8080] && list.stale_since().is_none()).await;
}

#[tokio::test]
async fn g01_each_loss_and_each_return_is_told_once() {
    let registry = World::Standard.registry().await;
    let nacos = registry.config().timeouts(quick()).build().unwrap();
    connected(&nacos).await;
    let watching = nacos.clone();
    let told = tokio::spawn(async move {
        let mut watch = watching.status();
        let (mut status, mut told) = (watch.current(), vec![]);
        while status != ConnectionStatus::Closed {
            if told.last() != Some(&status.is_connected()) {
                told.push(status.is_connected());
            }
            status = watch.changed(&status).await;
        }
        told
    });
    for _ in 0..2 {
        registry.proxy.black_hole();
        disconnected(&nacos).await;
        registry.proxy.heal();
        connected(&nacos).await;
    }
    assert_eq!(connects_and_losses(&nacos), (3, 2));
    nacos.shutdown(LONG).await;
    let told = in_time("the last status", told).await.unwrap();
    assert!(told.starts_with(&[true, false, true, false, true]), "{told:?}");
}

async fn g03_a_server_that_forgot_the_connection_gets_a_new_one(world: World) {
    let registry = world.registry().await;
    let nacos = registry.config().timeouts(quick()).build().unwrap();
    let registration = nacos.service("orders").unwrap().register(mine(8080)).unwrap();
    registration.confirmed().await.expect("it is registered");
    let witness = registry.witness().await;
    witness.sees("orders", &[8080]).await;
    let server = registry.server();
    let id = id_of_the_client(server);
    assert!(server.fault().forget(&id));
    // Without any call of the application: the health check finds out.
    wait_until("it is connected anew", || nacos.stats().lost_unregistered == 1 && nacos.stats().connects == 2).await;
    registration.confirmed().await.expect("it is registered again");
    witness.sees("orders", &[8080]).await;
    assert_ne!(id_of_the_client(server), id);
    wait_until("the old connection is closed", || !server.connections().iter().any(|c| c.id == id)).await;
}

#[tokio::test]
async fn g03_a_call_answered_with_301_replaces_the_connection() {
    let registry = World::Standard.registry().await;
    // Health checks are not what finds out here.
    let nacos = registry.config().deadline(LONG).build().unwrap();
    let orders = nacos.service("orders").unwrap();
    orders.snapshot().await.expect("the list");
    for (round, kind) in (1..).zip(["ServiceQueryRequest", "InstanceRequest"]) {
        // Two, as the first one within a moment of the set-up is asked once more.
        registry.server().fault().answers(AnswerFault::error(code::UNREGISTERED, "unknown").request(kind).times(2));
        let registration = orders.register(mine(8080)).unwrap();
        orders.query().await.expect("asked again on the new connection");
        registration.confirmed().await.expect("said again on the new connection");
        assert_eq!(nacos.stats().lost_unregistered, round, "{kind}: {:?}", nacos.stats());
        registry.server().fault().clear_answers();
        registration.withdraw().await.expect("the server answers");
    }
}

#[tokio::test]
async fn g03_a_server_that_answers_301_to_everything_is_left() {
    let (ill, well) = (World::Standard.registry().await, World::Standard.registry().await);
    let entries = [ill.entry(), well.entry()];
    let nacos = NamingService::builder().servers(entries).timeouts(quick()).build().unwrap();
    let registration = nacos.service("orders").unwrap().register(mine(8080)).unwrap();
    registration.confirmed().await.expect("it is registered");
    let (ill, well) = if serves(&ill) { (&ill, &well) } else { (&well, &ill) };
    ill.server().fault().answers(AnswerFault::error(code::UNREGISTERED, "unknown"));
    wait_until("it is with the other server", || serves(well)).await;
    registration.confirmed().await.expect("it is registered there");
}

#[tokio::test]
async fn g03_a_server_that_knows_no_request_keeps_its_connection() {
    let registry = World::Standard.registry().await;
    let nacos = registry.config().timeouts(quick()).build().unwrap();
    let orders = nacos.service("orders").unwrap();
    orders.snapshot().await.expect("the list");
    registry.server().fault().answers(AnswerFault::error(code::NO_HANDLER, "none").request("ServiceQueryRequest"));
    let error = orders.query().await.expect_err("no handler");
    assert!(matches!(error, QueryError::Unsupported { .. }), "{error:?}");
    assert_eq!(connects_and_losses(&nacos), (1, 0));
    registry.server().fault().clear_answers();
    orders.query().await.expect("the connection is as good as before");
}

#[tokio::test]
async fn g26_the_interval_and_the_deadline_of_the_health_check_are_two_things() {
    // Were they mixed up, no check would be sent for half a minute.
    let registry = World::Standard.registry().await;
    let tap = Tap::to(registry.grpc()).await;
    let mut timeouts = Timeouts::default();
    timeouts.health_idle = Duration::from_millis(50);
    timeouts.health = Duration::from_secs(30);
    let nacos = NamingService::builder().servers([tap.entry()]).timeouts(timeouts).build().unwrap();
    connected(&nacos).await;
    wait_until("checks are sent while nothing else happens", || tap.count("HealthCheckRequest") >= 5).await;
    // While a check is unanswered no other one is sent.
    registry.server().fault().answers(AnswerFault::silence().request("HealthCheckRequest"));
    wait_until("the last check is under way", {
        let (mut count, mut looked) = (0, 0);
        move || {
            let now = tap.count("HealthCheckRequest");
            looked = if now == count { looked + 1 } else { 0 };
            count = now;
            // Nothing new although four intervals have passed.
            looked > 40
        }
    })
    .await;
    assert_eq!(connects_and_losses(&nacos), (1, 0), "and nobody gives up before the deadline");
}

#[tokio::test]
async fn g26_a_short_deadline_counts_although_the_interval_is_long() {
    let registry = World::Standard.registry().await;
    let mut timeouts = Timeouts::default();
    timeouts.health_idle = Duration::from_millis(100);
    timeouts.health = Duration::from_millis(100);
    let nacos = registry.config().timeouts(timeouts).build().unwrap();
    connected(&nacos).await;
    registry.server().fault().freeze();
    disconnected(&nacos).await;
    registry.server().fault().thaw();
    connected(&nacos).await;
    assert!(nacos.stats().lost_unanswered >= 1, "{:?}", nacos.stats());
}
