//! A consumer: watches a service, calls its instances by weight, and prints who comes, who goes, and who answered.
//!
//! ```text
//! cargo run -p examples --bin consumer -- --server 127.0.0.1:8848 --calls 3000
//! ```
#![expect(clippy::print_stdout, reason = "what it prints is what it is for")]

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Parser;
use examples::{Caller, RegistryOptions, print_shares, stop_signal};
use nacos_client::{Select, ServiceChange};

/// Calls a service's instances by weight and watches its list.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    registry: RegistryOptions,
    /// Calls to make, once there is an instance.
    #[arg(long, default_value_t = 3_000)]
    calls: u32,
    /// End after the calls instead of watching on.
    #[arg(long)]
    once: bool,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let options = Options::parse();

    let nacos = options.registry.client()?;
    let service = nacos.service(&*options.registry.service)?;
    let mut changes = service.subscribe(Select::healthy());
    println!("waiting for an instance of {}", options.registry.service);
    while let Some(change) = changes.next().await {
        print_change(&change);
        if !change.instances().is_empty() {
            break;
        }
    }

    let caller = Caller::new();
    let mut answers = BTreeMap::new();
    let mut failed = 0_u32;
    for _ in 0..options.calls {
        match caller.call(&*service.pick()?).await {
            Ok(name) => *answers.entry(name).or_default() += 1,
            Err(_) => failed += 1,
        }
    }
    print_shares(&*service.snapshot().await?, &answers);
    println!("{failed} of {} calls failed", options.calls);

    if !options.once {
        let watch = async {
            while let Some(change) = changes.next().await {
                print_change(&change);
            }
        };
        tokio::select! {
            () = watch => {}
            signal = stop_signal() => signal?,
        }
    }
    nacos.shutdown(Duration::from_secs(5)).await;
    Ok(())
}

fn print_change(change: &ServiceChange) {
    for instance in change.added() {
        println!("joined:  {} (weight {})", instance.addr(), instance.weight);
    }
    for instance in change.removed() {
        println!("left:    {}", instance.addr());
    }
    for modified in change.modified() {
        println!("changed: {} (weight {})", modified.new.addr(), modified.new.weight);
    }
}
