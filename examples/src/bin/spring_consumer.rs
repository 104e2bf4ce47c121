//! A consumer that lists services and watches one: who provides it now, who joins, who leaves, who changes.
//!
//! ```text
//! cargo run -p examples --bin spring_consumer -- --server 127.0.0.1:8848
//! ```
#![expect(clippy::print_stdout, reason = "what it prints is what it is for")]

use std::time::Duration;

use clap::Parser;
use examples::{RegistryOptions, stop_signal};
use futures_util::StreamExt;
use nacos_client::ServiceKey;
use nacos_discovery::{DiscoveryClient, InstancesChange, NacosDiscovery, ServiceInstance};

/// Lists services and watches one.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    registry: RegistryOptions,
    /// Group.
    #[arg(long, default_value = "DEFAULT_GROUP")]
    group: String,
    /// End once the service has an instance.
    #[arg(long)]
    once: bool,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let options = Options::parse();
    let nacos = options.registry.client()?;
    let discovery = NacosDiscovery::new(nacos.clone());

    println!("services: {}", discovery.services(&options.group).await?.join(", "));
    let mut changes = discovery.watch(&ServiceKey::new(&options.group, &options.registry.service))?;
    let watch = async {
        while let Some(change) = changes.next().await {
            print_change(&change);
            if options.once && !change.list.is_empty() {
                return;
            }
        }
    };
    tokio::select! {
        () = watch => {}
        signal = stop_signal() => signal?,
    }
    nacos.shutdown(Duration::from_secs(5)).await;
    Ok(())
}

fn print_change(change: &InstancesChange) {
    let print = |what: &str, instances: &[ServiceInstance]| {
        for instance in instances {
            let version = instance.metadata().get("version").unwrap_or_default();
            println!("{what}: {} (weight {}, version {version:?})", instance.uri(), instance.weight());
        }
    };
    print("joined", &change.added);
    print("left", &change.removed);
    print("changed", &change.modified);
    if change.list.stale_since().is_some() {
        println!("the registry is away, these were the last known");
    }
}
