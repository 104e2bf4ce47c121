//! Two providers are restarted one after the other, again and again, under constant load: no call fails.
//!
//! ```text
//! cargo run -p examples --bin rolling_restart                            # with a server of its own
//! cargo run -p examples --bin rolling_restart -- --server 127.0.0.1:8848
//! ```
#![expect(clippy::print_stdout, reason = "what it prints is what it is for")]

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use clap::Parser;
use examples::Caller;
use nacos_client::{NamingService, Select, ServiceWatch};
use nacos_discovery::serve::Serving;
use nacos_discovery::{Discovery, DiscoveryConfig};
use nacos_server_min::Server;
use tokio::task::JoinSet;

type Error = Box<dyn std::error::Error + Send + Sync>;

const FREE_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
const CALLERS: usize = 8;
/// Pause of a caller between two calls.
const PAUSE: Duration = Duration::from_millis(2);

/// Restarts two providers under load.
#[derive(Parser)]
struct Options {
    /// Nacos server, as host:port; by default one in this process.
    #[arg(long)]
    server: Option<String>,
    /// Service.
    #[arg(long, default_value = "rolling-order-service")]
    service: String,
    /// How often each of the two is restarted at least.
    #[arg(long, default_value_t = 2)]
    restarts: u32,
    /// Calls to make at least.
    #[arg(long, default_value_t = 20_000)]
    calls: u64,
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter("warn").init();
    let options = Options::parse();
    let own = match &options.server {
        Some(_) => None,
        None => Some(Server::builder().start().await?),
    };
    let address = options.server.clone().or_else(|| own.as_ref().map(Server::server_addr)).unwrap_or_default();
    let service = options.service.as_str();

    let nacos = NamingService::builder().servers([&address]).build()?;
    let mut list = nacos.service(service)?.watch(Select::pickable());
    let mut providers = [provider(&address, service, FREE_PORT).await?, provider(&address, service, FREE_PORT).await?];
    wait_for_both(&mut list, &providers).await?;

    let load = Load::begin(&nacos, service)?;
    let mut restarts = 0;
    while restarts < 2 * options.restarts || load.calls() < options.calls {
        let one = usize::try_from(restarts % 2)?;
        let place = providers[one].address();
        println!("{place} leaves: {}", providers[one].shutdown().await);
        providers[one] = provider(&address, service, place).await?;
        // As in a rolling update, the next one leaves once consumers know that this one is back.
        wait_for_both(&mut list, &providers).await?;
        restarts += 1;
    }
    let (calls, failures) = load.end().await;
    println!("{restarts} restarts, {} of {calls} calls failed", failures.len());
    for failure in failures.iter().take(10) {
        println!("  {failure}");
    }

    for provider in &providers {
        provider.shutdown().await;
    }
    nacos.shutdown(Duration::from_secs(5)).await;
    if let Some(own) = own {
        own.shutdown().await;
    }
    if failures.is_empty() { Ok(()) } else { Err("calls failed".into()) }
}

/// A provider with a client of its own, as a process would have.
async fn provider(server: &str, service: &str, listen: SocketAddr) -> Result<Serving, Error> {
    let config = DiscoveryConfig::builder().server_addr(server).service(service).build()?;
    let app = Router::new().route("/", get(|| async { "an order" }));
    Ok(Discovery::new(config)?.serve(app).listen_on(listen).start().await?)
}

async fn wait_for_both(list: &mut ServiceWatch, providers: &[Serving; 2]) -> Result<(), Error> {
    loop {
        let listed = list.current().unwrap_or_default();
        if providers.iter().all(|provider| listed.iter().any(|i| i.socket_addr() == Some(provider.address()))) {
            return Ok(());
        }
        list.changed().await?;
    }
}

/// Callers that pick and call as long as they are not told to end.
struct Load {
    calls: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    callers: JoinSet<Vec<String>>,
}

impl Load {
    fn begin(nacos: &NamingService, service: &str) -> Result<Self, Error> {
        let (calls, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let caller = Caller::new();
        let mut callers = JoinSet::new();
        for _ in 0..CALLERS {
            let (calls, stop, caller) = (Arc::clone(&calls), Arc::clone(&stop), caller.clone());
            let service = nacos.service(service)?;
            // Ends after the call under way once `stop` is set.
            callers.spawn(async move {
                let mut failures = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    let result = match service.pick() {
                        Ok(instance) => caller.call(&instance).await.map_err(|e| format!("{instance}: {e:?}")),
                        Err(error) => Err(error.to_string()),
                    };
                    failures.extend(result.err());
                    calls.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(PAUSE).await;
                }
                failures
            });
        }
        Ok(Self { calls, stop, callers })
    }

    fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Ends them; how many calls were made, and what failed.
    async fn end(self) -> (u64, Vec<String>) {
        self.stop.store(true, Ordering::Relaxed);
        let failures = self.callers.join_all().await.concat();
        (self.calls.load(Ordering::Relaxed), failures)
    }
}
