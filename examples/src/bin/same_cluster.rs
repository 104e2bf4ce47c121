//! Calls stay in the consumer's own cluster as long as somebody there takes them, go to another one without a failure, and
//! come back.
//!
//! ```text
//! cargo run -p examples --bin same_cluster
//! ```
#![expect(clippy::print_stdout, reason = "what it prints is what it is for")]

use std::collections::BTreeMap;
use std::time::Duration;

use examples::{Error, Provider, until};
use nacos_discovery::adapters::reqwest::ReqwestBalanced;
use nacos_discovery::{Discovery, DiscoveryConfig, Endpoints};
use nacos_server_min::Server;

const SERVICE: &str = "order-service";
const CALLS: u32 = 500;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let server = Server::builder().start().await?;
    let registry = server.server_addr();
    let east = provider(&registry, "east").await?;
    let west = [provider(&registry, "west").await?, provider(&registry, "west").await?];

    // The consumer's own cluster is the one that it would be registered in.
    let config = DiscoveryConfig::builder().server_addr(&registry).cluster("east").build()?;
    let discovery = Discovery::new(config)?;
    let web = discovery.reqwest(reqwest::Client::new());
    let endpoints = discovery.directory().endpoints(&discovery.service_key(SERVICE))?;
    until("all three are known", || endpoints.all().len() == 3).await?;
    expect(&calls(&web, &endpoints).await?, "one of three is in our cluster", &["east"])?;

    east.stop().await?;
    until("the one in the east is gone", || endpoints.all().len() == 2).await?;
    expect(&calls(&web, &endpoints).await?, "nobody is in our cluster", &["west"])?;
    println!("{} calls so far left the cluster", endpoints.cross_cluster_picks());

    let east = provider(&registry, "east").await?;
    until("somebody is back in the east", || endpoints.all().len() == 3).await?;
    expect(&calls(&web, &endpoints).await?, "one is back in our cluster", &["east"])?;
    println!("{} calls left it in all", endpoints.cross_cluster_picks());
    let strayed = endpoints.cross_cluster_picks() != u64::from(CALLS);

    discovery.shutdown(Duration::from_secs(5)).await;
    for provider in west.into_iter().chain([east]) {
        provider.stop().await?;
    }
    server.shutdown().await;
    if strayed { Err("calls left the cluster without need".into()) } else { Ok(()) }
}

async fn provider(registry: &str, cluster: &str) -> Result<Provider, Error> {
    Provider::start(registry, SERVICE, |instance| instance.cluster(cluster)).await
}

/// Calls the service, and counts the answers by the cluster they came from.
async fn calls(web: &ReqwestBalanced, endpoints: &Endpoints) -> Result<BTreeMap<String, u32>, Error> {
    let clusters: BTreeMap<String, String> = endpoints
        .all()
        .iter()
        .map(|endpoint| (endpoint.target().authority.to_string(), endpoint.instance().cluster().to_owned()))
        .collect();
    let mut answers = BTreeMap::new();
    for _ in 0..CALLS {
        let from = web.get("lb://order-service/").send().await?.error_for_status()?.text().await?;
        *answers.entry(clusters.get(&from).cloned().unwrap_or(from)).or_default() += 1;
    }
    Ok(answers)
}

/// Prints who answered; an error if it were others.
fn expect(answers: &BTreeMap<String, u32>, when: &str, clusters: &[&str]) -> Result<(), Error> {
    println!("{when:<32} answers came from {answers:?}");
    if answers.keys().eq(clusters) {
        Ok(())
    } else {
        Err(format!("{when}, yet not {clusters:?} alone answered").into())
    }
}
