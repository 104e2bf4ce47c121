//! What is logged: next to nothing while all is well, and in an outage enough to understand it and no flood.

use std::time::Duration;

use nacos_client::NamingService;
use tracing::Level;

use crate::support::client::{LONG, connected, disconnected, mine};
use crate::support::consumer::{lists, marked, prompt, service, subscribed};
use crate::support::logs::Logs;
use crate::support::proxy::Proxy;
use crate::support::wait::wait_until;
use crate::support::world::{World, in_our_worlds, unique};

in_our_worlds!(t06_ten_minutes_without_a_server_are_told_and_do_not_flood);

const TEN_MINUTES: Duration = Duration::from_secs(600);
/// Fewer lines than that in a whole outage.
const FLOOD: usize = 50;

/// Lets simulated time pass; nothing waits in between.
async fn ten_minutes_pass() {
    tokio::time::pause();
    tokio::time::sleep(TEN_MINUTES).await;
    tokio::time::resume();
}

async fn t06_ten_minutes_without_a_server_are_told_and_do_not_flood(world: World) {
    let mut registry = world.registry().await;
    let nacos = prompt(&registry);
    let names: Vec<_> = (0..20).map(|_| unique("orders")).collect();
    let mut changes = Vec::new();
    for name in &names {
        nacos.register_instance(name, mine(1)).await.expect("it is acknowledged");
        changes.push(subscribed(&service(&nacos, name)).await);
    }
    let logs = Logs::capture();
    registry.goes_down().await;
    disconnected(&nacos).await;
    let loss = logs.at(Level::INFO).len();
    assert!((1..=5).contains(&loss), "the loss is told: {:?}", logs.at(Level::INFO));
    ten_minutes_pass().await;
    let outage = logs.at(Level::INFO).len() - loss;
    assert!(outage >= 2, "summaries come now and then: {:?}", logs.at(Level::INFO));
    assert!(logs.at(Level::ERROR).is_empty(), "no human must act: {:?}", logs.at(Level::ERROR));
    registry.comes_up().await;
    connected(&nacos).await;
    for name in &names {
        lists(&service(&nacos, name), &[1]).await;
    }
    let whole = logs.at(Level::INFO).len();
    assert!(whole > loss + outage, "the recovery is told");
    assert!(whole < FLOOD, "{whole} lines: {:?}", logs.at(Level::INFO));
    // Details are there for who asks for them.
    assert!(logs.at(Level::DEBUG).len() > whole);
}

#[tokio::test]
async fn t06_a_server_that_was_never_there_is_told_and_does_not_flood() {
    let closed = Proxy::closed().await;
    let silent = Proxy::closed().await;
    silent.be_silent().await;
    for (proxy, cause) in [(closed, "refused"), (silent, "")] {
        let nacos = NamingService::builder().servers([proxy.entry(8848)]).build().expect("the settings are valid");
        let logs = Logs::capture();
        let registration = service(&nacos, "orders").register(mine(1)).expect("it is valid");
        ten_minutes_pass().await;
        let lines = logs.at(Level::INFO);
        assert!((3..FLOOD).contains(&lines.len()), "{} lines: {lines:?}", lines.len());
        let port = proxy.address().port().to_string();
        assert!(
            lines.iter().any(|line| line.text.contains(&port) && line.text.contains(cause)),
            "what was really tried, and why it failed: {lines:?}"
        );
        let error = registration.confirmed_within(Duration::ZERO).await.expect_err("nobody is there").to_string();
        assert!(error.contains(&port) && error.contains(cause), "{error}");
        nacos.shutdown(LONG).await;
    }
}

#[tokio::test]
async fn cg53_an_hour_of_changes_logs_next_to_nothing() {
    const SERVICES: usize = 100;
    const ROUNDS: usize = 12;
    let registry = World::Standard.registry().await;
    let config = registry.config().reconcile_interval(Duration::from_secs(1));
    let nacos = config.build().expect("the settings are valid");
    let witness = registry.witness().await;
    let logs = Logs::capture();
    let names: Vec<_> = (0..SERVICES).map(|_| unique("orders")).collect();
    for name in &names {
        service(&nacos, name).ready().await.expect("the server answers");
    }
    // So many pushes that a line for one in a hundred would show; how quickly they come changes nothing.
    for round in 0..ROUNDS {
        for name in &names {
            witness.register(name, marked(1, round)).await;
        }
    }
    wait_until("all has arrived", || nacos.stats().pushes >= (SERVICES * ROUNDS / 2) as u64).await;
    for name in &names {
        let orders = service(&nacos, name);
        let last = (ROUNDS - 1).to_string();
        wait_until("the last state is there", || {
            orders.pick_with(|i| i.metadata.get("mark") == Some(&last)).is_ok_and(|is_last| is_last)
        })
        .await;
    }
    let lines = logs.at(Level::INFO);
    assert!(lines.len() <= 10, "{lines:?}");
}
