//! A provider and a consumer of `order-service`, and a registry that misbehaves.

use std::time::Duration;

use axum::{Router, routing::get};
use nacos_client::{Instance, NamingService, Select};
use nacos_discovery::adapters::reqwest::ReqwestBalanced;
use nacos_discovery::serve::Serving;
use nacos_discovery::{Discovery, DiscoveryConfig};
use nacos_server_min::fault::AnswerFault;
use nacos_server_min::{Behaviour, Server};
use tokio::time::{sleep, timeout};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// What is not there by then never comes. No figure that is tested: only a failing test waits for so long.
const PATIENCE: Duration = Duration::from_secs(30);

async fn provider(registry: &str) -> Result<Serving> {
    let settings = DiscoveryConfig::builder().server_addr(registry).service("order-service");
    let discovery = Discovery::new(settings.property("server.shutdown", "immediate").build()?)?;
    let app = Router::new().route("/orders/7", get(|| async { "a book" }));
    Ok(discovery.serve(app).listen_on(([127, 0, 0, 1], 0).into()).start().await?)
}

fn consumer(registry: &str) -> Result<ReqwestBalanced> {
    let discovery = Discovery::new(DiscoveryConfig::builder().server_addr(registry).build()?)?;
    Ok(discovery.reqwest(reqwest::Client::new()))
}

async fn order(web: &ReqwestBalanced) -> Result<String> {
    Ok(web.get("lb://order-service/orders/7").send().await?.error_for_status()?.text().await?)
}

/// A real registry tells consumers of a new instance up to 0.6 s late, so the first call may come too early.
async fn first_order(web: &ReqwestBalanced) -> Result<String> {
    let found = async {
        loop {
            match order(web).await {
                Ok(order) => return order,
                Err(_) => sleep(Duration::from_millis(10)).await,
            }
        }
    };
    Ok(timeout(PATIENCE, found).await?)
}

#[tokio::test]
async fn calls_go_on_while_the_registry_is_away_and_it_learns_everything_anew() -> Result<()> {
    let registry = Server::builder().behaviour(Behaviour::Nacos25).seed(7).start().await?;
    let (address, port) = (registry.server_addr(), registry.http_addr().port());
    let provider = provider(&address).await?;
    let web = consumer(&address)?;
    assert_eq!(first_order(&web).await?, "a book");

    registry.fault().freeze(); // it accepts connections, and neither reads nor writes
    assert_eq!(order(&web).await?, "a book");
    drop(registry); // it is gone
    assert_eq!(order(&web).await?, "a book");

    let registry = Server::builder().port(port).start().await?; // it knows nobody
    let witness = NamingService::builder().servers([&address]).build()?;
    let mut orders = witness.service("order-service")?.subscribe(Select::healthy());
    let registered_again = async { while orders.next().await.is_some_and(|list| list.instances().is_empty()) {} };
    timeout(PATIENCE, registered_again).await?;
    assert_eq!(order(&web).await?, "a book");

    provider.shutdown().await;
    assert!(witness.service("order-service")?.query().await?.is_empty());
    registry.shutdown().await;
    Ok(())
}

#[tokio::test]
async fn a_registration_that_fails_is_tried_until_it_is_taken() -> Result<()> {
    let registry = Server::builder().start().await?;
    registry.fault().answers(AnswerFault::error(500, "out of order").request("InstanceRequest").times(2));
    let nacos = NamingService::builder().servers([registry.server_addr()]).build()?;
    let me = nacos.service("order-service")?.register(Instance::parse("127.0.0.1:8080")?)?;
    me.confirmed_within(PATIENCE).await?;
    assert_eq!(nacos.service("order-service")?.query().await?.len(), 1);
    registry.shutdown().await;
    Ok(())
}

#[tokio::test]
async fn a_push_that_is_late_is_not_lost() -> Result<()> {
    let registry = Server::builder().start().await?;
    let nacos = NamingService::builder().servers([registry.server_addr()]).build()?;
    let orders = nacos.service("order-service")?;
    let first = orders.register(Instance::parse("127.0.0.1:8080")?)?;
    first.confirmed().await?;
    let mut changes = orders.subscribe(Select::all());
    assert_eq!(changes.next().await.map(|list| list.instances().len()), Some(1));

    registry.fault().hold_pushes();
    let second = orders.register(Instance::parse("127.0.0.1:8081")?)?;
    second.confirmed().await?;
    assert_eq!(orders.snapshot().await?.len(), 1); // the list of before: nothing is asked for a pick or a snapshot
    registry.fault().deliver_pushes();
    let change = timeout(PATIENCE, changes.next()).await?;
    assert_eq!(change.map(|list| list.added().len()), Some(1));
    registry.shutdown().await;
    Ok(())
}
