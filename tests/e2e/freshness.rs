//! Which list is newer: pushes that are lost or late, and servers whose clocks are wrong.

use std::time::Duration;

use nacos_client::{ChangeCause, EmptyPolicy, NamingService, ServiceHandle};

use crate::support::consumer::{at_hand, mark, marked, next_that, prompt, service, subscribed};
use crate::support::forge::{LATE, push, tapped};
use crate::support::wait::{eventually, wait_until};
use crate::support::witness::Witness;
use crate::support::world::{Registry, World, in_our_worlds, unique};

in_our_worlds!(
    cg37_a_push_that_was_never_sent_is_made_up_for_and_counted,
    cg38_moves_between_servers_with_wrong_clocks_lose_nothing,
    f04_a_clock_that_steps_back_freezes_no_list,
    f04_a_slower_clock_after_a_failover_freezes_no_list,
    f04_stamps_that_go_back_far_are_followed_and_a_little_are_checked,
);

const HOUR_MS: i64 = 3_600_000;

async fn cg37_a_push_that_was_never_sent_is_made_up_for_and_counted(world: World) {
    let registry = world.registry().await;
    let config = registry.config().empty_policy(EmptyPolicy::Accept).reconcile_interval(Duration::from_millis(200));
    let nacos = config.build().expect("the settings are valid");
    let name = unique("orders");
    let orders = service(&nacos, &name);
    let mut changes = subscribed(&orders).await;
    let witness = registry.witness().await;
    registry.server().fault().drop_pushes();
    let before = nacos.stats();
    witness.register(&name, marked(1, "unsaid")).await;
    let change = next_that(&mut changes, "the change is told", |c| mark(c.instances()) == Some("unsaid")).await;
    assert_eq!(change.cause(), ChangeCause::Changed);
    let after = nacos.stats();
    assert!(after.repairs > before.repairs, "and counted: {after:?}");
    assert_eq!(after.pushes, before.pushes, "no push said so");
}

/// Two servers that know nothing of each other, with clocks two hours apart, and a client that may use either.
struct Pair {
    servers: [Registry; 2],
    witnesses: [Witness; 2],
    nacos: NamingService,
    name: String,
}

impl Pair {
    async fn new(world: World, skews: [i64; 2]) -> Self {
        let servers = [world.registry().await, world.registry().await];
        for (server, skew) in servers.iter().zip(skews) {
            server.server().fault().skew_clock(skew);
        }
        let witnesses = [servers[0].witness().await, servers[1].witness().await];
        let entries = servers.iter().map(Registry::entry);
        let config = NamingService::builder().servers(entries).empty_policy(EmptyPolicy::Accept);
        let nacos = config.reconcile_interval(Duration::ZERO).build().expect("the settings are valid");
        Self { servers, witnesses, nacos, name: unique("orders") }
    }

    fn orders(&self) -> ServiceHandle {
        service(&self.nacos, &self.name)
    }

    /// Which of the two serves the client; the witnesses are connected to both.
    async fn serving(&self) -> usize {
        eventually("one of them has the subscription", async || {
            self.servers.iter().position(|server| server.server().connections().iter().any(|c| c.subscribed > 0))
        })
        .await
    }

    async fn set(&self, server: usize, mark: usize) {
        self.witnesses[server].register(&self.name, marked(1, mark)).await;
    }

    /// Asks the client to leave `from`.
    fn ask_to_move(&self, from: usize) {
        let server = self.servers[from].server();
        let own = server.connections().into_iter().find(|c| c.subscribed > 0).expect("it serves the client");
        assert!(server.reset_connection(&own.id, None));
    }
}

fn shows(orders: &ServiceHandle, expected: usize) -> bool {
    let snapshot = orders.try_snapshot().expect("the client runs");
    snapshot.is_some_and(|s| mark(s.instances()) == Some(expected.to_string().as_str()))
}

async fn cg38_moves_between_servers_with_wrong_clocks_lose_nothing(world: World) {
    // Moves in quick succession are delayed more and more; many of them are simulated beside the code.
    let moves = 6;
    let pair = Pair::new(world, [HOUR_MS, -HOUR_MS]).await;
    let orders = pair.orders();
    let mut changes = subscribed(&orders).await;
    let mut last = 0;
    for number in 0..moves {
        let here = pair.serving().await;
        let there = 1 - here;
        pair.set(there, number * 2).await;
        pair.ask_to_move(here);
        wait_until("the client has moved", || {
            pair.servers[there].server().connections().iter().any(|c| c.subscribed > 0)
                && !pair.servers[here].server().connections().iter().any(|c| c.subscribed > 0)
        })
        .await;
        wait_until("what the new server knows is seen", || shows(&orders, number * 2)).await;
        pair.set(there, number * 2 + 1).await;
        wait_until("its changes are seen", || shows(&orders, number * 2 + 1)).await;
        // One listener is told of the last state of each round, in order, whatever was merged.
        let expected = (number * 2 + 1).to_string();
        let change =
            next_that(&mut changes, "the listener is told", |c| mark(c.instances()) == Some(expected.as_str())).await;
        assert!(change.snapshot().revision() > last);
        last = change.snapshot().revision();
    }
}

async fn f04_a_clock_that_steps_back_freezes_no_list(world: World) {
    let registry = world.registry().await;
    let (nacos, name) = (prompt(&registry), unique("orders"));
    let orders = service(&nacos, &name);
    let mut changes = subscribed(&orders).await;
    let witness = registry.witness().await;
    for (round, skew) in [24 * HOUR_MS, -HOUR_MS, 0, HOUR_MS, HOUR_MS - 20_000].into_iter().enumerate() {
        registry.server().fault().skew_clock(skew);
        witness.register(&name, marked(1, round)).await;
        let expected = round.to_string();
        next_that(&mut changes, "the change is told", |c| mark(c.instances()) == Some(expected.as_str())).await;
    }
}

async fn f04_a_slower_clock_after_a_failover_freezes_no_list(world: World) {
    let mut pair = Pair::new(world, [10 * 60_000, 0]).await;
    let orders = pair.orders();
    pair.set(0, 1).await;
    pair.set(1, 2).await;
    let mut changes = subscribed(&orders).await;
    let here = pair.serving().await;
    pair.servers[here].goes_down().await;
    let there = 1 - here;
    wait_until("the other server's list is seen", || shows(&orders, there + 1)).await;
    pair.set(there, 3).await;
    next_that(&mut changes, "its changes are told", |c| mark(c.instances()) == Some("3")).await;
}

async fn f04_stamps_that_go_back_far_are_followed_and_a_little_are_checked(world: World) {
    let (registry, tap, nacos, orders, name) = tapped(world).await;
    let witness = registry.witness().await;
    witness.register(&name, marked(1, 0)).await;
    let mut changes = subscribed(&orders).await;
    // A clock that was set right by an hour, by a day, and forward again.
    for (number, stamp) in [LATE, LATE - HOUR_MS, LATE - 25 * HOUR_MS, LATE].into_iter().enumerate() {
        tap.inject(&push(&name, number, stamp, vec![marked(1, number + 1)]));
        wait_until("the push is followed", || shows(&orders, number + 1)).await;
    }
    // A push that was overtaken by a newer one of the same clock is not; but it makes the client ask the server.
    let before = nacos.stats();
    tap.inject(&push(&name, 9, LATE - 5_000, vec![marked(1, 99)]));
    wait_until("it is seen to be old", || nacos.stats().pushes_overtaken > before.pushes_overtaken).await;
    assert!(shows(&orders, 4));
    wait_until("the server's own list is shown", || shows(&orders, 0)).await;
    assert!(nacos.stats().repairs > before.repairs);
    while let Some(change) = at_hand(&mut changes) {
        assert_ne!(mark(change.instances()), Some("99"));
    }
}
