//! Finding out what is wrong between here and a registry: each check says what it saw, and what to do.

mod check;
mod push;
mod search;
mod server;

use serde_json::json;

use self::check::{Check, Verdict};
use crate::{
    failure::{Done, Failure},
    output::Output,
    registry::Registry,
};

/// Runs all checks, and shows each as soon as it is done.
pub(crate) async fn doctor(registry: &Registry, output: Output, service: Option<&str>) -> Result<Done, Failure> {
    // What cannot be read at all is no finding.
    registry.config()?;
    let mut report = Report { output, checks: Vec::new() };
    let mut reached = false;
    for server in registry.common.server.split([',', ';']).map(str::trim).filter(|server| !server.is_empty()) {
        let one = registry.at(server);
        let (state, check) = server::http(&one).await?;
        let answered = std::time::SystemTime::now();
        report.add(check)?;
        if let Some(state) = state {
            reached = true;
            report.add(server::auth(&one, &state).await?)?;
            report.add(server::clock(&state, answered))?;
            report.add(server::grpc(&one, &state).await?)?;
        }
    }
    if reached {
        report.add(server::protocol(registry).await?)?;
        report.add(server::namespace(registry).await?)?;
        report.add(push::round_trip(registry).await?)?;
        report.add(push::udp(registry).await?)?;
        if let Some(service) = service {
            for check in search::service(registry, service).await? {
                report.add(check)?;
            }
        }
    }
    report.end()
}

struct Report {
    output: Output,
    checks: Vec<Check>,
}

impl Report {
    fn add(&mut self, check: Check) -> Result<(), Failure> {
        if !self.output.json() {
            check.print(self.output)?;
        }
        self.checks.push(check);
        Ok(())
    }

    fn end(self) -> Result<Done, Failure> {
        let failed = self.checks.iter().any(|check| check.verdict == Verdict::Failed);
        if self.output.json() {
            self.output.document(&json!({ "healthy": !failed, "checks": self.checks }))?;
        }
        Ok(if failed { Done::Found } else { Done::Fine })
    }
}
