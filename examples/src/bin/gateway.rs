//! A reverse proxy: `/{service}/…` goes to an instance of that service, over HTTP/1.1 or, for gRPC, over HTTP/2. It serves both
//! itself, and WebSockets.
//!
//! ```text
//! cargo run -p examples --bin gateway -- --server 127.0.0.1:8848 --services order-service --listen 127.0.0.1:8080
//! curl http://127.0.0.1:8080/order-service/orders/7
//! ```
#![expect(clippy::print_stdout, reason = "what it prints is what it is for")]

use std::net::SocketAddr;

use clap::Parser;
use examples::Error;
use examples::gateway::{Gateway, GatewayLimits, GatewayServices};
use nacos_discovery::{BalanceLayer, Discovery, DiscoveryConfig};

/// Forwards requests to instances.
#[derive(Parser)]
struct Options {
    /// Nacos servers, as host:port, separated by commas.
    #[arg(long, default_value = "127.0.0.1:8848")]
    server: String,
    /// Where it listens.
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// The name under which the gateway itself is registered.
    #[arg(long, default_value = "gateway")]
    service: String,
    /// The services that callers may reach, separated by commas; a name that ends with * stands for all that begin so. There is
    /// no default. With * alone any path makes the gateway ask the registry for a service of that name, and watch it: only
    /// for callers who are trusted. The gateway's own service is never reached.
    #[arg(long, value_name = "NAMES")]
    services: GatewayServices,
    #[command(flatten)]
    limits: GatewayLimits,
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter("warn").init();
    let options = Options::parse();
    let config = DiscoveryConfig::builder().server_addr(&options.server).service(&options.service).build()?;
    let discovery = Discovery::new(config)?;
    let services = options.services.without(&options.service);
    let gateway = Gateway::new(&BalanceLayer::new(&discovery), services, options.limits);
    let serving = discovery.serve(gateway.router()).listen_on(options.listen).start().await?;
    println!("listening on {}", serving.address());
    examples::stop_signal().await?;
    print!("{}", serving.shutdown().await);
    Ok(())
}
