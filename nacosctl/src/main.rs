//! `nacosctl`: looks into a Nacos registry, changes what is in it, compares servers, and finds out why something is not seen.

mod changed;
mod cli;
mod commands;
mod doctor;
mod failure;
mod output;
mod registry;

use std::process::ExitCode;

use clap::Parser;
use cli::Cli;
use failure::Done;
use output::Output;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    // What the client logs is for who asks for it; the output is the tool's.
    let filter = tracing_subscriber::EnvFilter::try_from_env("NACOSCTL_LOG").unwrap_or_else(|_| "off".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let output = Output::new(&cli.common);
    match commands::run(cli, output).await {
        Ok(Done::Fine) => ExitCode::SUCCESS,
        Ok(Done::Found) => ExitCode::from(failure::FOUND),
        Err(failure) => {
            output.failure(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}
