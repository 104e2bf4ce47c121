//! The main job in one process: a server, three providers of different weight, and a consumer that calls them by weight and
//! is told when one leaves and another joins.
//!
//! ```text
//! cargo run -p examples --bin quickstart
//! ```
#![expect(clippy::print_stdout, reason = "what it prints is what it is for")]

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use examples::{Caller, HttpService, print_shares};
use nacos_client::{Instance, NamingService, Registration, Select, Subscription};
use nacos_server_min::Server;

type Error = Box<dyn std::error::Error + Send + Sync>;

const CALLS: u32 = 3_000;
const WEIGHTS: [f64; 3] = [1.0, 2.0, 5.0];
const FREE_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

#[tokio::main]
async fn main() -> Result<(), Error> {
    let server = Server::builder().start().await?;
    let address = server.server_addr();
    println!("a Nacos server listens on {address}");

    let mut providers = Vec::new();
    for weight in WEIGHTS {
        providers.push(Provider::start(&address, weight).await?);
    }

    let nacos = NamingService::builder().servers([&address]).build()?;
    let orders = nacos.service("order-service")?;
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
    let (seen, joined) = tokio::join!(wait_for(&mut changes, providers.len() + 1), Provider::start(&address, 3.0));
    providers.push(joined?);
    println!("the consumer saw another join after {:.1} ms", milliseconds(seen? - started));

    for provider in providers {
        provider.stop().await?;
    }
    nacos.shutdown(Duration::from_secs(5)).await;
    server.shutdown().await;
    Ok(())
}

/// One process's worth of provider: an HTTP service, and a client of its own that registers it.
struct Provider {
    http: HttpService,
    nacos: NamingService,
    registration: Registration,
}

impl Provider {
    async fn start(server: &str, weight: f64) -> Result<Self, Error> {
        let http = HttpService::start(FREE_PORT).await?;
        let nacos = NamingService::builder().servers([server]).build()?;
        let registration = nacos.service("order-service")?.register(Instance::new(http.addr()).weight(weight))?;
        registration.confirmed().await?;
        println!("a provider of weight {weight} listens on {}", http.addr());
        Ok(Self { http, nacos, registration })
    }

    /// First out of the registry, then out of service: nobody is sent to a closed door.
    async fn stop(self) -> Result<(), Error> {
        self.registration.withdraw().await?;
        self.nacos.shutdown(Duration::from_secs(5)).await;
        self.http.stop().await?;
        Ok(())
    }
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
