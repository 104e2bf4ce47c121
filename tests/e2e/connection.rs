//! Losing connections and getting new ones.

use std::time::Duration;

use nacos_client::{ConnectionStatus, EmptyPolicy, Instance, NamingService, QueryError, Select, Timeouts};
use nacos_proto::code;
use nacos_server_min::fault::AnswerFault;
use nacos_server_min::{ConnectionInfo, Server};

use crate::support::client::{LONG, connected, disconnected, mine, ports, quick, status_that, told};
use crate::support::proxy::{Proxy, Way};
use crate::support::tap::Tap;
use crate::support::wait::{eventually, holds_while, in_time, wait_until};
use crate::support::witness::{Witness, foreign};
use crate::support::world::{Registry, World, in_every_world, in_our_worlds, unique};

in_every_world!(
    cg09_a_reset_link_is_replaced_and_everything_is_back,
    g01_a_half_dead_link_is_noticed_and_everything_is_back,
);

in_our_worlds!(
    cg09_a_frozen_server_is_left_for_another_one,
    cg11_observers_never_miss_an_instance_while_its_client_moves,
    g03_a_server_that_forgot_the_connection_gets_a_new_one,
    g11_a_client_that_is_asked_to_move_shows_no_empty_list,
);

/// How often a client was connected and lost its connection, as it tells itself.
fn connects_and_losses(nacos: &NamingService) -> (u64, u64) {
    let stats = nacos.stats();
    let lost = stats.lost_transport + stats.lost_unanswered + stats.lost_unregistered + stats.lost_other;
    (stats.connects, lost)
}

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

/// The server's connections with clients under test that publish something.
fn publishers(server: &Server) -> Vec<ConnectionInfo> {
    let mut all = server.connections();
    all.retain(|c| c.registered && c.published > 0 && c.client_version.starts_with("Nacos-Rust"));
    all
}

/// Whether the client under test publishes something there.
fn serves(registry: &Registry) -> bool {
    !publishers(registry.server()).is_empty()
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
            registry.proxy.flow(*way, crate::support::proxy::Flow::BlackHole);
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

/// The server's id of the only connection that publishes something.
fn id_of_the_client(server: &Server) -> String {
    let publishing = publishers(server);
    assert_eq!(publishing.len(), 1, "{publishing:?}");
    publishing[0].id.clone()
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

/// Asks the client that publishes something to move.
fn ask_to_move(registry: &Registry, target: Option<&str>) {
    let server = registry.server();
    assert!(server.reset_connection(&id_of_the_client(server), target), "it has a stream");
}

async fn cg11_observers_never_miss_an_instance_while_its_client_moves(world: World) {
    let registry = world.registry().await;
    let nacos = registry.client();
    let registrations: Vec<_> =
        (0..20).map(|i| nacos.service(format!("s{i}")).unwrap().register(mine(8000 + i)).unwrap()).collect();
    for registration in &registrations {
        registration.confirmed_within(LONG).await.expect("it is registered");
    }
    let witness = registry.witness().await;
    for i in 0..20 {
        witness.sees(&format!("s{i}"), &[8000 + i]).await;
    }
    let mut next = 0;
    let there = async || {
        next = (next + 1) % 20;
        witness.ports(&format!("s{next}")).await == [8000 + next]
    };
    holds_while("every instance is listed exactly once", there, async {
        for round in 1..=3 {
            let old = id_of_the_client(registry.server());
            ask_to_move(&registry, None);
            wait_until("the old connection is closed", || {
                let all = registry.server().connections();
                !all.iter().any(|c| c.id == old) && all.iter().any(|c| c.registered && c.published == 20 && c.id != old)
            })
            .await;
            assert_eq!(nacos.stats().moved, round);
        }
    })
    .await;
    let stats = nacos.stats();
    assert_eq!((stats.connects, connects_and_losses(&nacos).1), (4, 0), "{stats:?}");
}

#[tokio::test]
async fn cg11_the_old_connection_is_closed_only_when_the_new_one_holds_everything() {
    let registry = World::Standard.registry().await;
    let tap = Tap::to(registry.grpc()).await;
    let nacos = NamingService::builder().servers([tap.entry()]).build().unwrap();
    let registration = nacos.service("orders").unwrap().register(mine(8080)).unwrap();
    registration.confirmed_within(LONG).await.expect("it is registered");
    let server = registry.server();
    // The registration on the new connection is acknowledged when we say so.
    server.fault().answers(AnswerFault::delay(Duration::from_millis(700)).request("InstanceRequest"));
    let old = id_of_the_client(server);
    ask_to_move(&registry, None);
    let new = eventually("the new connection publishes", async || {
        server.connections().into_iter().find(|c| c.id != old && c.published == 1).map(|c| c.id)
    })
    .await;
    assert!(server.connections().iter().any(|c| c.id == old), "the old one is there until the acknowledgement");
    wait_until("the old one is closed after it", || !server.connections().iter().any(|c| c.id == old)).await;
    assert!(server.connections().iter().any(|c| c.id == new && c.published == 1));
    let said = tap.said_of("InstanceRequest");
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(said[0].payload.json(), said[1].payload.json(), "byte for byte the same record");
}

async fn g11_a_client_that_is_asked_to_move_shows_no_empty_list(world: World) {
    let (first, second) = (world.registry().await, world.registry().await);
    let nacos = NamingService::builder()
        .servers([first.entry(), second.entry()])
        .empty_policy(EmptyPolicy::Accept)
        .build()
        .unwrap();
    let mut providers = Vec::new();
    for registry in [&first, &second] {
        let witness = registry.witness().await;
        witness.register("other", foreign(9090)).await;
        witness.sees("other", &[9090]).await;
        providers.push(witness);
    }
    let registration = nacos.service("own").unwrap().register(mine(8080)).unwrap();
    registration.confirmed_within(LONG).await.expect("it is registered");
    let other = nacos.service("other").unwrap();
    let mut changes = other.subscribe(Select::all());
    told(&mut changes, "the list", |list| ports(list) == [9090]).await;
    let never_empty = async || other.pick().is_ok_and(|picked| picked.port == 9090);
    holds_while("the list is never empty", never_empty, async {
        for with_target in [true, false, true] {
            let (from, to) = if serves(&first) { (&first, &second) } else { (&second, &first) };
            let target = to.server().server_addr();
            ask_to_move(from, with_target.then_some(target.as_str()));
            wait_until("it is with the other server", || serves(to) && !serves(from)).await;
            registration.confirmed_within(LONG).await.expect("it is registered there");
        }
    })
    .await;
    assert_eq!(nacos.stats().moved, 3);
    while let Ok(Some(change)) = tokio::time::timeout(Duration::from_millis(100), changes.next()).await {
        assert_eq!(ports(change.snapshot()), [9090], "{:?}", change.cause());
    }
}

#[tokio::test]
async fn g11_a_target_that_is_not_listed_or_makes_no_sense_is_no_target() {
    let registry = World::Standard.registry().await;
    let nacos = registry.client();
    let registration = nacos.service("own").unwrap().register(mine(8080)).unwrap();
    registration.confirmed_within(LONG).await.expect("it is registered");
    for (round, target) in (1..).zip(["10.1.2.3:8848", "nonsense", "[::1]:1", "127.0.0.1:99999", ":"]) {
        ask_to_move(&registry, Some(target));
        let old_is_gone = || nacos.stats().moved == round && publishers(registry.server()).len() == 1;
        wait_until("it has moved all the same", old_is_gone).await;
        registration.confirmed_within(LONG).await.expect("it is registered again");
    }
    assert_eq!(registry.proxy.open(), 1);
}

#[tokio::test]
async fn g12_every_form_of_a_server_entry_leads_to_its_grpc_port() {
    let server = Server::builder().start().await.unwrap();
    let (main, grpc) = (server.http_addr().port(), server.grpc_addr().port());
    let proxy = Proxy::to(server.grpc_addr()).await;
    let mapped = proxy.address().port();
    let forms = [
        (format!("127.0.0.1:{main}"), None),
        (format!("http://127.0.0.1:{main}"), None),
        (format!("http://127.0.0.1:{main}/"), None),
        (format!("localhost:{main}"), None),
        (format!("127.0.0.1:80?grpc_port={mapped}"), None),
        (format!("127.0.0.1?grpc_port={grpc}"), None),
        (format!("127.0.0.1:{}?grpc_offset=7", grpc - 7), None),
        (format!("127.0.0.1:{}", grpc - 9), Some(9)),
        (format!("127.0.0.1:1,127.0.0.1:{main};127.0.0.1:2"), None),
    ];
    for (entry, offset) in forms {
        let builder = NamingService::builder().servers([entry.as_str()]).deadline(LONG);
        let builder = if let Some(offset) = offset { builder.grpc_port_offset(offset) } else { builder };
        let nacos = builder.build().unwrap_or_else(|e| panic!("{entry}: {e}"));
        nacos.service("orders").unwrap().snapshot().await.unwrap_or_else(|e| panic!("{entry}: {e}"));
    }
    assert_eq!(proxy.accepted(), 1, "the mapped port was used when it was named");
}

#[tokio::test]
async fn g12_an_error_names_the_address_and_port_really_tried() {
    let closed = Proxy::closed().await;
    let port = closed.address().port();
    let forms = [
        (format!("127.0.0.1:80?grpc_port={port}"), None),
        (format!("127.0.0.1:{}", port - 1000), None),
        (format!("127.0.0.1:{}", port - 3), Some(3)),
    ];
    for (entry, offset) in forms {
        let builder = NamingService::builder().servers([entry.as_str()]).deadline(Duration::from_millis(200));
        let builder = if let Some(offset) = offset { builder.grpc_port_offset(offset) } else { builder };
        let nacos = builder.build().unwrap();
        let error = nacos.connected(Duration::from_millis(200)).await.expect_err("nobody listens there");
        let QueryError::NotConnected { last_error: Some(last), .. } = error else { panic!("{entry}: {error:?}") };
        assert!(last.contains(&format!("127.0.0.1:{port}")), "{entry}: {last}");
    }
}

#[tokio::test]
async fn g12_a_port_that_speaks_http1_is_named_as_what_it_is() {
    // The main port of a server, taken for its gRPC port, as behind a wrongly set up proxy.
    let server = Server::builder().start().await.unwrap();
    let wrong = server.http_addr();
    let nacos = NamingService::builder()
        .servers([format!("127.0.0.1:8848?grpc_port={}", wrong.port())])
        .timeouts(quick())
        .build()
        .unwrap();
    nacos.connected(Duration::from_millis(100)).await.expect_err("that is no gRPC port");
    let status = status_that(&nacos, "an attempt has failed", |status| {
        matches!(status, ConnectionStatus::Connecting { last_error: Some(_), .. })
    })
    .await;
    let ConnectionStatus::Connecting { last_error: Some(last), .. } = status else { unreachable!("waited for it") };
    assert!(last.contains(&wrong.to_string()), "{last}");
}

#[tokio::test]
async fn g13_a_server_on_ipv6_is_reached_by_every_form_of_its_address() {
    let server = Server::builder().host("::1").start().await.expect("IPv6 loopback");
    let (main, grpc) = (server.http_addr().port(), server.grpc_addr().port());
    let forms = [
        server.server_addr(),
        format!("http://[::1]:{main}"),
        format!("[0:0:0:0:0:0:0:1]:{main}"),
        format!("::1?grpc_port={grpc}"),
        format!("[::1]?grpc_port={grpc}"),
    ];
    for entry in forms {
        let nacos = NamingService::builder().servers([entry.as_str()]).deadline(LONG).build().unwrap();
        nacos.service("orders").unwrap().snapshot().await.unwrap_or_else(|e| panic!("{entry}: {e}"));
        let ConnectionStatus::Connected { peer, .. } = nacos.status().current() else { panic!("{entry}") };
        assert_eq!(peer, format!("[::1]:{grpc}"), "{entry}");
    }
}

#[tokio::test]
async fn g13_ipv6_instances_come_through_whole() {
    let registry = World::Standard.registry().await;
    let nacos = registry.config().deadline(LONG).build().unwrap();
    let orders = nacos.service("orders").unwrap();
    let forms = [
        ("2001:db8::5", "2001:db8::5"),
        ("[2001:db8::6]", "2001:db8::6"),
        ("::1", "::1"),
        ("fe80::1%eth0", "fe80::1%eth0"),
    ];
    let mut registrations = Vec::new();
    for (given, _) in forms {
        registrations.push(orders.register(Instance::new((given, 8080))).unwrap_or_else(|e| panic!("{given}: {e}")));
    }
    for registration in &registrations {
        registration.confirmed().await.expect("it is registered");
    }
    let mut changes = orders.subscribe(Select::all());
    let list = told(&mut changes, "all of them", |list| list.len() == forms.len()).await;
    for (_, ip) in forms {
        let found =
            list.instances().iter().find(|instance| instance.ip == ip).unwrap_or_else(|| panic!("{ip}: {list:?}"));
        assert_eq!(found.addr(), format!("[{ip}]:8080"));
        let uri = format!("http://{}/path", found.addr());
        if !ip.contains('%') {
            let uri: http::Uri = uri.parse().expect("the address goes into a URI as it is");
            assert_eq!(uri.port_u16(), Some(8080));
        }
    }
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
