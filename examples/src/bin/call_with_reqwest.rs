//! Load balancing in ten lines, those of `calls`: a reqwest client calls a service by its name, and the weights of its three
//! providers say how often each of them answers.
//!
//! ```text
//! cargo run -p examples --bin call_with_reqwest
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use examples::{Error, Provider, print_counts};
use nacos_discovery::{Discovery, DiscoveryConfig};
use nacos_server_min::Server;

const CALLS: u32 = 4_000;
const WEIGHTS: [f64; 3] = [1.0, 2.0, 5.0];

#[tokio::main]
async fn main() -> Result<(), Error> {
    let server = Server::builder().start().await?;
    let registry = server.server_addr();
    let mut providers = Vec::new();
    for weight in WEIGHTS {
        providers.push(Provider::start(&registry, "order-service", |instance| instance.weight(weight)).await?);
    }

    let answers = calls(&registry).await?;
    let instances: Vec<_> =
        providers.iter().zip(WEIGHTS).map(|(provider, weight)| (provider.address(), weight)).collect();
    let fair = print_counts(&instances, &answers, CALLS);

    for provider in providers {
        provider.stop().await?;
    }
    server.shutdown().await;
    if fair { Ok(()) } else { Err("the weights do not count".into()) }
}

/// Calls the service, and counts the answers by the instance that gave them.
async fn calls(registry: &str) -> Result<BTreeMap<String, u32>, Error> {
    let discovery = Discovery::new(DiscoveryConfig::builder().server_addr(registry).build()?)?;
    let web = discovery.reqwest(reqwest::Client::new());
    let mut answers = BTreeMap::new();
    for _ in 0..CALLS {
        let response = web.get("lb://order-service/").send().await?.error_for_status()?;
        *answers.entry(response.text().await?).or_default() += 1;
    }
    discovery.shutdown(Duration::from_secs(5)).await;
    Ok(answers)
}
