//! A provider configured by the `application.yml` of a Spring application: it listens, registers, serves, and on Ctrl-C or
//! SIGTERM leaves without a failed call. The environment overrides the file, as in Spring.
//!
//! ```text
//! NACOS_SERVER=127.0.0.1:8848 cargo run -p examples --bin spring_provider -- examples/application.yml
//! ```
#![expect(clippy::print_stdout, reason = "what it prints is what it is for")]

use std::path::PathBuf;

use axum::Router;
use axum::routing::get;
use clap::Parser;
use nacos_discovery::{Discovery, DiscoveryConfig};

/// Serves HTTP as an application.yml says.
#[derive(Parser)]
struct Options {
    /// The settings: YAML, TOML or properties.
    #[arg(default_value = "application.yml")]
    settings: PathBuf,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let discovery = Discovery::new(DiscoveryConfig::from_file(Options::parse().settings)?)?;

    let app = Router::new().route("/", get(|| async { "an order" }));
    let serving = discovery
        .serve(app)
        .operations_at("/actuator")
        .registrar(|registrar| registrar.plan(|plan| plan.after_drain(|| async { println!("no request is left") })))
        .run()
        .await?;
    println!("{serving}");
    Ok(())
}
