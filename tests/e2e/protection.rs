//! Lists that lack instances: believed in the end, but not from a server that has just started.

use std::time::Duration;

use nacos_client::{ChangeCause, EmptyPolicy, NamingService, Select};

use crate::support::consumer::{at_hand, lists, next, next_that, ports, service};
use crate::support::wait::{holds_while, in_time, wait_until};
use crate::support::witness::{Witness, foreign};
use crate::support::world::{Registry, World, in_every_world, in_our_worlds, unique};

in_every_world!(
    f01_the_last_instances_end_is_seen_in_the_steady_state,
    f01_the_last_instances_end_is_seen_after_the_hold_of_a_young_connection,
);

// A peer cannot be restarted: there the instances would be seen leaving, which is believed.
in_our_worlds!(
    f01_policies_say_how_long_an_empty_list_is_not_believed,
    f02_a_list_emptied_by_a_restart_is_held_until_the_instances_are_back,
);

/// Times short enough for a test; the defaults are 5 s and 30 s.
const WINDOW: Duration = Duration::from_millis(1500);

fn client(registry: &Registry, policy: EmptyPolicy, window: Duration) -> NamingService {
    let config = registry.config().empty_policy(policy).hold_times(window, window * 2);
    config.build().expect("the settings are valid")
}

/// A service with two instances, each of a connection of its own.
async fn two(registry: &Registry, name: &str) -> [Witness; 2] {
    let witnesses = [registry.witness().await, registry.witness().await];
    witnesses[0].register(name, foreign(1)).await;
    witnesses[1].register(name, foreign(2)).await;
    witnesses[0].sees(name, &[1, 2]).await;
    witnesses
}

async fn leave(witnesses: &[Witness; 2], name: &str) {
    witnesses[0].deregister(name, foreign(1)).await;
    witnesses[1].deregister(name, foreign(2)).await;
}

async fn f01_the_last_instances_end_is_seen_in_the_steady_state(world: World) {
    let registry = world.registry().await;
    let name = unique("orders");
    let witnesses = two(&registry, &name).await;
    // A window that is over at once is a connection in its steady state.
    let nacos = client(&registry, EmptyPolicy::Default, Duration::ZERO);
    let orders = service(&nacos, &name);
    let mut changes = orders.subscribe(Select::all());
    next_that(&mut changes, "both are listed", |c| ports(c.instances()) == [1, 2]).await;
    leave(&witnesses, &name).await;
    let change = next_that(&mut changes, "the end of all is told", |c| c.instances().is_empty()).await;
    assert_eq!((change.cause(), change.snapshot().held()), (ChangeCause::Changed, None));
    assert!(orders.pick().is_err());
}

async fn f01_the_last_instances_end_is_seen_after_the_hold_of_a_young_connection(world: World) {
    let registry = world.registry().await;
    let name = unique("orders");
    let witnesses = two(&registry, &name).await;
    let nacos = client(&registry, EmptyPolicy::Default, WINDOW);
    let orders = service(&nacos, &name);
    let mut changes = orders.subscribe(Select::all());
    next_that(&mut changes, "both are listed", |c| ports(c.instances()) == [1, 2]).await;
    // What is listed before the first connection has spoken cannot be missing from it; it can from the second one.
    registry.proxy.reset_connections();
    next_that(&mut changes, "the list is confirmed", |c| c.cause() == ChangeCause::Resynced).await;
    leave(&witnesses, &name).await;
    wait_until("the removals are held, or decided already", || {
        let snapshot = orders.try_snapshot().expect("the client runs").expect("there is a list");
        snapshot.held().is_some() || snapshot.is_empty()
    })
    .await;
    let change = next_that(&mut changes, "the end of all is told", |c| c.instances().is_empty()).await;
    assert_eq!(change.snapshot().held(), None);
}

async fn f02_a_list_emptied_by_a_restart_is_held_until_the_instances_are_back(world: World) {
    let mut registry = world.registry().await;
    let name = unique("orders");
    let provider = registry.client();
    let reg = service(&provider, &name).register(nacos_client::Instance::new(("127.0.0.1", 1))).expect("it is valid");
    in_time("the registration", reg.confirmed_within(Duration::from_secs(30))).await.expect("it is acknowledged");
    // What another client registered comes back later than we do.
    let late = registry.witness().await;
    late.register(&name, foreign(2)).await;
    let nacos = client(&registry, EmptyPolicy::Default, Duration::from_secs(60));
    let orders = service(&nacos, &name);
    let mut changes = orders.subscribe(Select::all());
    next_that(&mut changes, "both are listed", |c| ports(c.instances()) == [2, 1]).await;

    registry.goes_down().await;
    drop(late);
    registry.comes_up().await;
    let back = async {
        wait_until("the client is back and holds what the server lacks", || {
            let snapshot = orders.try_snapshot().expect("the client runs").expect("there is a list");
            snapshot.stale_since().is_none() && snapshot.held().is_some()
        })
        .await;
        let late = registry.witness().await;
        late.register(&name, foreign(2)).await;
        wait_until("nothing is held any more", || {
            let snapshot = orders.try_snapshot().expect("the client runs").expect("there is a list");
            snapshot.held().is_none()
        })
        .await;
        late
    };
    let all = async || ports(orders.try_snapshot().unwrap().unwrap().instances()) == [2, 1] && orders.pick().is_ok();
    let _late = holds_while("both are listed and can be picked", all, back).await;
    while let Some(change) = at_hand(&mut changes) {
        assert!(change.removed().is_empty(), "no listener was told of an end: {change:?}");
    }
}

async fn f01_policies_say_how_long_an_empty_list_is_not_believed(world: World) {
    let registry = world.registry().await;
    let name = unique("orders");
    let witnesses = two(&registry, &name).await;
    let accept = client(&registry, EmptyPolicy::Accept, Duration::from_secs(60));
    let hold = client(&registry, EmptyPolicy::Hold { max: WINDOW }, Duration::ZERO);
    let forever = client(&registry, EmptyPolicy::HoldForever, Duration::ZERO);
    let mut all = Vec::new();
    for nacos in [&accept, &hold, &forever] {
        let orders = service(nacos, &name);
        let mut changes = orders.subscribe(Select::all());
        next_that(&mut changes, "both are listed", |c| ports(c.instances()) == [1, 2]).await;
        all.push((orders, changes));
    }
    leave(&witnesses, &name).await;
    let [(accepting, accepted), (holding, held), (keeping, kept)] = &mut all[..] else { unreachable!() };
    next_that(accepted, "an accepting client is told", |c| c.instances().is_empty()).await;
    assert!(accepting.pick().is_err());
    // The list went through a state that shows that it is held, and ends as the server says.
    next_that(held, "a holding client is told in the end", |c| c.instances().is_empty()).await;
    assert!(holding.pick().is_err());
    wait_until("a keeping client holds for good", || {
        let snapshot = keeping.try_snapshot().expect("the client runs").expect("there is a list");
        snapshot.held().is_some_and(|held| held.until.is_none() && held.count >= 1)
    })
    .await;
    assert!(keeping.pick().is_ok());
    assert!(at_hand(kept).is_none_or(|change| !change.instances().is_empty()));
    // One instance is enough to be believed again.
    witnesses[0].register(&name, foreign(3)).await;
    lists(keeping, &[3]).await;
    let change = next(accepted).await;
    assert_eq!(ports(change.instances()), [3]);
}
