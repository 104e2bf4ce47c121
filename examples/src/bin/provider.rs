//! A provider: serves HTTP, registers itself, and leaves cleanly on Ctrl-C or SIGTERM.
//!
//! ```text
//! cargo run -p examples --bin provider -- --server 127.0.0.1:8848 --weight 2
//! ```
#![expect(clippy::print_stdout, reason = "what it prints is what it is for")]

use std::net::SocketAddr;
use std::time::Duration;

use clap::Parser;
use examples::{HttpService, RegistryOptions, stop_signal};
use nacos_client::Instance;

/// Serves HTTP and registers itself with a Nacos server.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    registry: RegistryOptions,
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Share of the traffic, 0 to 10000.
    #[arg(long, default_value_t = 1.0)]
    weight: f64,
    /// Cluster.
    #[arg(long, default_value = "DEFAULT")]
    cluster: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let options = Options::parse();

    let http = HttpService::start(options.listen).await?;
    let nacos = options.registry.client()?;
    let instance = Instance::new(http.addr()).weight(options.weight).cluster(&options.cluster);
    let registration = nacos.service(&*options.registry.service)?.register(instance)?;
    println!("serving on {}", http.addr());

    // Not confirmed in time is no reason to give up: the wish stays, and is fulfilled when a server can be reached.
    match registration.confirmed().await {
        Ok(()) => println!("registered for {}", options.registry.service),
        Err(error) => println!("not registered yet: {error}"),
    }

    stop_signal().await?;
    println!("leaving");
    if let Err(error) = registration.withdraw().await {
        println!("left without the server's word: {error}");
    }
    nacos.shutdown(Duration::from_secs(5)).await;
    http.stop().await?;
    Ok(())
}
