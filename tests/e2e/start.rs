//! Beginning without a registry, or before it.

use std::time::Duration;

use futures_util::StreamExt;
use nacos_client::{ConfirmError, NamingService, NamingServiceBuilder, PickError, QueryError, Select};

use crate::support::client::{LONG, connected, failures, mine, no_task_is_left, on_a_runtime_of_its_own, ports, told};
use crate::support::proxy::Proxy;
use crate::support::wait::{in_time, wait_until};
use crate::support::witness::foreign;
use crate::support::world::{World, in_every_world, unique};

in_every_world!(cg05_what_was_asked_for_before_the_registry_came_up_takes_effect);

/// A deadline that is over soon.
const SOON: Duration = Duration::from_millis(200);

/// Relays that are no use in all the ways there are.
async fn useless() -> Vec<(&'static str, Proxy)> {
    let silent = Proxy::closed().await;
    silent.be_silent().await;
    let slamming = Proxy::closed().await;
    slamming.slam().await;
    let swallowing = Proxy::to(silent.address()).await;
    swallowing.black_hole();
    vec![
        ("refuses", Proxy::closed().await),
        ("accepts and says nothing", silent),
        ("accepts and resets", slamming),
        ("swallows everything", swallowing),
    ]
}

fn client_of(proxy: &Proxy) -> NamingServiceBuilder {
    NamingService::builder().servers([proxy.entry(8848)]).deadline(SOON)
}

#[test]
fn cg01_building_a_client_does_nothing_that_could_wait() {
    // No runtime here: whatever waits for the network would have to block this thread or fail.
    let unresolvable = NamingService::builder().servers(["no-such-host.invalid"]).build().expect("the name is valid");
    let (listener, address) = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port is to be had");
        listener.set_nonblocking(true).expect("any socket can do that");
        let address = listener.local_addr().expect("the socket is bound");
        (listener, address)
    };
    let silent = NamingService::builder().servers([format!("127.0.0.1:8848?grpc_port={}", address.port())]);
    let silent = silent.build().expect("the settings are valid");
    let handles = [&unresolvable, &silent].map(|nacos| nacos.service("orders").expect("the name is valid"));
    drop((handles, unresolvable, silent));
    let knocked = listener.accept().expect_err("nobody has connected");
    assert_eq!(knocked.kind(), std::io::ErrorKind::WouldBlock);
}

#[tokio::test]
async fn cg03_without_a_registry_a_query_ends_with_an_error_and_never_with_an_empty_list() {
    for (what, proxy) in useless().await {
        let nacos = client_of(&proxy).build().expect("the settings are valid");
        let orders = nacos.service("orders").expect("the name is valid");
        let snapshot = in_time(what, orders.snapshot()).await.expect_err(what);
        assert!(matches!(snapshot, QueryError::NotConnected { .. }), "{what}: {snapshot:?}");
        assert!(snapshot.is_retryable());
        let query = in_time(what, orders.query()).await.expect_err(what);
        assert!(matches!(query, QueryError::NotConnected { .. }), "{what}: {query:?}");
        let refresh = in_time(what, orders.refresh()).await.expect_err(what);
        assert!(matches!(refresh, QueryError::NotConnected { .. }), "{what}: {refresh:?}");
        assert!(matches!(orders.pick(), Err(PickError::NotReady(_))), "{what}");
        assert!(orders.try_snapshot().expect("the client runs").is_none(), "{what}");
        let page = in_time(what, nacos.services_page("DEFAULT_GROUP", 1, 10)).await.expect_err(what);
        assert!(matches!(page, QueryError::NotConnected { .. }), "{what}: {page:?}");
        let one_of_all = in_time(what, nacos.services("DEFAULT_GROUP").boxed().next()).await;
        assert!(matches!(one_of_all, Some(Err(QueryError::NotConnected { .. }))), "{what}: {one_of_all:?}");
    }
}

#[tokio::test]
async fn cg03_what_the_last_attempt_failed_with_is_told() {
    let proxy = Proxy::closed().await;
    let nacos = client_of(&proxy).build().expect("the settings are valid");
    let error = nacos.service("orders").expect("the name is valid").snapshot().await.expect_err("nobody listens");
    let QueryError::NotConnected { last_error: Some(last), .. } = error else { panic!("{error:?}") };
    assert!(last.contains(&proxy.address().to_string()), "names where it tried: {last}");
}

#[tokio::test]
async fn cg04_requiring_a_connection_fails_in_time_and_leaves_nothing_running() {
    for (what, proxy) in useless().await {
        let builder = client_of(&proxy);
        on_a_runtime_of_its_own(move || async move {
            let nacos = builder.build().expect("the settings are valid");
            let error = nacos.connected(SOON).await.expect_err(what);
            assert!(matches!(error, QueryError::NotConnected { waited: SOON, .. }), "{what}: {error:?}");
            drop(nacos);
            no_task_is_left().await;
        })
        .await;
        proxy.heal();
        wait_until("no socket is left", || proxy.open() == 0).await;
    }
}

async fn cg05_what_was_asked_for_before_the_registry_came_up_takes_effect(world: World) {
    let registry = world.registry().await;
    registry.proxy.refuse().await;
    let nacos = registry.config().deadline(LONG).build().expect("the settings are valid");
    let (own, other) = (unique("own"), unique("other"));
    let registration = nacos.service(&own).expect("the name is valid").register(mine(8080)).expect("it is valid");
    let mut changes = nacos.service(&other).expect("the name is valid").subscribe(Select::all());
    let mut own_changes = nacos.service(&own).expect("the name is valid").subscribe(Select::all());
    let provider = registry.witness().await;
    provider.register(&other, foreign(9090)).await;
    wait_until("it has tried", || failures(&nacos) > 1).await;
    assert!(provider.instances(&own).await.is_empty());

    registry.proxy.accept().await;
    provider.sees(&own, &[8080]).await;
    registration.confirmed().await.expect("it is registered");
    told(&mut changes, "the other service", |list| ports(list) == [9090]).await;
    told(&mut own_changes, "the own service", |list| ports(list) == [8080]).await;
}

#[tokio::test]
async fn g15_every_public_call_returns_while_no_server_is_reachable() {
    let mut tasks = tokio::task::JoinSet::new();
    for (what, proxy) in useless().await {
        tasks.spawn(async move {
            let nacos = client_of(&proxy).build().expect("the settings are valid");
            let orders = nacos.service("orders").expect("the name is valid");
            let registration = orders.register(mine(8080)).expect("a wish needs no server");
            let confirmed = in_time(what, registration.confirmed()).await.expect_err(what);
            assert!(matches!(confirmed, ConfirmError::Deadline { .. }), "{what}: {confirmed:?}");
            registration.update(|instance| instance.weight(2.0)).expect("a wish needs no server");
            in_time(what, orders.ready()).await.expect_err(what);
            // Nothing was ever registered, so nothing is left to be removed.
            in_time(what, registration.withdraw()).await.expect(what);
            let error = in_time(what, nacos.register_instance("orders", mine(8081))).await.expect_err(what);
            assert!(matches!(error, ConfirmError::Deadline { .. }), "{what}: {error:?}");
            in_time(what, nacos.get_all_instances("orders", &[])).await.expect_err(what);
            in_time(what, nacos.select_instances("orders", Select::healthy())).await.expect_err(what);
            in_time(what, nacos.select_one_healthy_instance("orders", &[])).await.expect_err(what);
            in_time(what, nacos.get_services_of_server(1, 10, "DEFAULT_GROUP")).await.expect_err(what);
            // About three seconds have passed; with the pauses between attempts there is room for few.
            assert!(proxy.accepted() < 40, "{what}: it does not hammer: {}", proxy.accepted());
            in_time(what, nacos.shutdown(LONG)).await;
        });
    }
    tasks.join_all().await;
}

#[tokio::test]
async fn g15_a_client_that_began_without_a_server_is_whole_once_there_is_one() {
    let registry = World::Standard.registry().await;
    registry.proxy.be_silent().await;
    let nacos = registry.config().deadline(SOON).build().expect("the settings are valid");
    let orders = nacos.service("orders").expect("the name is valid");
    let registration = orders.register(mine(8080)).expect("it is valid");
    registration.confirmed().await.expect_err("the server says nothing");
    orders.pick().expect_err("there is no list yet");
    registry.proxy.accept().await;
    registry.proxy.reset_connections();
    connected(&nacos).await;
    registration.confirmed_within(LONG).await.expect("it is registered");
    wait_until("the list has arrived", || orders.pick().is_ok_and(|picked| picked.port == 8080)).await;
}
