//! Being asked by a server to go to another one.

use std::time::Duration;

use nacos_client::{EmptyPolicy, NamingService, Select};
use nacos_server_min::fault::AnswerFault;

use crate::support::client::{LONG, connects_and_losses, mine, ports, told};
use crate::support::tap::Tap;
use crate::support::wait::{eventually, holds_while, wait_until};
use crate::support::witness::foreign;
use crate::support::world::{Registry, World, id_of_the_client, in_our_worlds, publishers, serves};

in_our_worlds!(
    cg11_observers_never_miss_an_instance_while_its_client_moves,
    g11_a_client_that_is_asked_to_move_shows_no_empty_list,
);

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
    assert_ne!(said[0].connection, said[1].connection);
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
    wait_until("only the last connection is open", || registry.proxy.open() == 1).await;
}
