//! An application for the interoperability tests, the counterpart of the one of Spring Cloud Alibaba in `tests/interop/spring`:
//! it reads the same `application.yml`, provides the same service, and takes the same commands, one JSON object per line. The
//! protocol is described in `tests/interop/README.md`.
#![forbid(unsafe_code)]

mod commands;
mod load;
mod provide;

use std::error::Error;
use std::time::Duration;

use nacos_discovery::serve::{Serving, stop_signal};
use nacos_discovery::{Discovery, DiscoveryConfig};
use nacos_tests::line_protocol::{answer, lines, print};
use serde_json::json;

use commands::{Application, Command};

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let settings = std::env::args().nth(1).ok_or("usage: APPLICATION.YML")?;
    let discovery = Discovery::new(DiscoveryConfig::from_file(settings)?)?;
    let serving = if discovery.config().register_enabled() { Some(provide::start(&discovery).await?) } else { None };
    print(&json!({"event": "ready"}))?;
    // The commands go on during the shutdown, as those of an application under load would.
    tokio::select! {
        told = obey(Application::new(discovery.clone(), &serving)?) => told?,
        stopped = leave(&discovery, &serving) => stopped?,
    }
    Ok(())
}

/// Answers commands until there are none any more.
async fn obey(mut application: Application<'_>) -> Result<(), Failure> {
    let mut lines = lines();
    while let Some(line) = lines.recv().await {
        let command: Command = serde_json::from_str(&line)?;
        let id = command.id;
        print(&answer(id, application.execute(command).await))?;
    }
    Ok(())
}

/// Waits for SIGTERM and leaves, as `run` of the serving does.
async fn leave(discovery: &Discovery, serving: &Option<Serving>) -> Result<(), Failure> {
    stop_signal().await?;
    match serving {
        Some(serving) => {
            let report = serving.shutdown().await;
            let steps: Vec<String> = report.steps.iter().map(|step| step.step.to_string()).collect();
            print(&json!({"event": "left", "clean": report.is_clean(), "steps": steps}))?;
        }
        None => drop(discovery.shutdown(Duration::from_secs(5)).await),
    }
    Ok(())
}
