//! The main job in one process: a server, three providers of different weight, and a consumer that calls them by weight and
//! is told when one leaves and another joins.
//!
//! ```text
//! cargo run -p examples --bin quickstart
//! ```
#![expect(clippy::print_stdout, reason = "what it prints is what it is for")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use examples::{Caller, Error, Provider, print_shares};
use nacos_client::{NamingService, Select, Subscription};
use nacos_server_min::Server;

const CALLS: u32 = 3_000;
const WEIGHTS: [f64; 3] = [1.0, 2.0, 5.0];
const SERVICE: &str = "order-service";

#[tokio::main]
async fn main() -> Result<(), Error> {
    let server = Server::builder().start().await?;
    let address = server.server_addr();
    println!("a Nacos server listens on {address}");

    let mut providers = Vec::new();
    for weight in WEIGHTS {
        let provider = Provider::start(&address, SERVICE, |instance| instance.weight(weight)).await?;
        println!("a provider of weight {weight} listens on {}", provider.address());
        providers.push(provider);
    }

    let nacos = NamingService::builder().servers([&address]).build()?;
    let orders = nacos.service(SERVICE)?;
    let mut changes = orders.subscribe(Select::healthy());
    wait_for(&mut changes, providers.len()).await?;

    println!("\n{CALLS} calls through the weighted pick:");
    let caller = Caller::new();
    let mut answers = BTreeMap::new();
    for _ in 0..CALLS {
        *answers.entry(caller.call(&*orders.pick()?).await?).or_default() += 1;
    }
    print_shares(&*orders.snapshot().await?, &answers);

    println!();
    let leaving = providers.pop().ok_or("there are three providers")?;
    let stopped = Instant::now();
    let (seen, gone) = tokio::join!(wait_for(&mut changes, providers.len()), leaving.stop());
    gone?;
    println!("the consumer saw one leave after {:.1} ms", milliseconds(seen? - stopped));

    let started = Instant::now();
    let joining = Provider::start(&address, SERVICE, |instance| instance.weight(3.0));
    let (seen, joined) = tokio::join!(wait_for(&mut changes, providers.len() + 1), joining);
    providers.push(joined?);
    println!("the consumer saw another join after {:.1} ms", milliseconds(seen? - started));

    for provider in providers {
        provider.stop().await?;
    }
    nacos.shutdown(Duration::from_secs(5)).await;
    server.shutdown().await;
    Ok(())
}

/// Waits until the subscription shows `count` instances, and says when that was.
async fn wait_for(changes: &mut Subscription, count: usize) -> Result<Instant, Error> {
    while let Some(change) = changes.next().await {
        if change.instances().len() == count {
            return Ok(Instant::now());
        }
    }
    Err("the subscription ended".into())
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
