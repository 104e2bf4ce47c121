//! `nacosctl`: looks into a Nacos registry, changes what is in it, compares servers, and finds out why something is not seen.

mod changed;
mod cli;
mod commands;
mod doctor;
mod failure;
mod input;
mod output;
mod registry;
mod request_args;
mod stop;

use std::process::ExitCode;

use clap::Parser;
use cli::Cli;
use failure::{Done, Failure};
use output::Output;
use tracing_subscriber::EnvFilter;

/// The environment variable that says what is logged.
const LOG: &str = "NACOSCTL_LOG";

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = Output::new(&cli.common);
    if let Err(failure) = log() {
        output.failure(&failure);
        return ExitCode::from(failure.exit_code());
    }
    match commands::run(cli, output).await {
        Ok(Done::Fine) => ExitCode::SUCCESS,
        Ok(Done::Found) => ExitCode::from(failure::FOUND),
        Err(failure) => {
            output.failure(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

/// What the client logs is for who asks for it; the output is the tool's.
fn log() -> Result<(), Failure> {
    let wanted = std::env::var(LOG).unwrap_or_else(|_| "off".to_owned());
    let filter = EnvFilter::try_new(&wanted).map_err(|error| {
        Failure::Usage(format!("{LOG}={wanted}: {error}; write it like debug or nacos_client=trace"))
    })?;
    // What cannot be written is lost: to say so where it cannot be written either would be a panic.
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).log_internal_errors(false).init();
    Ok(())
}
