//! Rules of routing: whether they can be used, and what they would do.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nacos_discovery::ServiceInstance;
use nacos_discovery::route::{DryRun, DryRunRequest, Problem, RecordedRequest, RouteDocument, RouteError};
use serde_json::{Value, json};

use super::listed;
use crate::{
    cli::{self, Routes},
    failure::{Done, Failure},
    input,
    output::{Output, Row, Tone},
    registry::Registry,
};

pub(super) async fn run(registry: &Registry, output: Output, command: Routes) -> Result<Done, Failure> {
    match command {
        Routes::Check { files } => check(output, &files),
        Routes::DryRun(run) => dry_run(registry, output, &run).await,
        Routes::Schema => output.text(RouteDocument::schema()).map(|()| Done::Fine),
    }
}

fn check(output: Output, files: &[PathBuf]) -> Result<Done, Failure> {
    let mut done = Done::Fine;
    let mut documents = Vec::new();
    for file in files {
        let read = RouteDocument::from_file(file);
        match &read {
            Err(error) if matches!(error.problem(), Problem::Unreadable { .. }) => {
                return Err(Failure::Usage(error.to_string()));
            }
            Err(_) => done = Done::Found,
            Ok(_) => {}
        }
        if output.json() {
            documents.push(told(file, &read));
        } else {
            tell(output, file, &read)?;
        }
    }
    if output.json() {
        output.document(&documents)?;
    }
    Ok(done)
}

fn tell(output: Output, file: &Path, read: &Result<RouteDocument, RouteError>) -> Result<(), Failure> {
    let document = match read {
        Ok(document) => document,
        Err(error) => return output.toned(&[(Some(Tone::Bad), &error.to_string())]),
    };
    let counts = format!(
        "{}, {}",
        counted(document.services.len(), "service"),
        counted(document.services.values().map(|rules| rules.routes.len()).sum(), "rule")
    );
    output.toned(&[(None, &file.display().to_string()), (None, ": "), (Some(Tone::Good), &counts)])?;
    for warning in document.warnings() {
        output.toned(&[(Some(Tone::Doubtful), "→ "), (None, &warning.to_string())])?;
    }
    Ok(())
}

fn told(file: &Path, read: &Result<RouteDocument, RouteError>) -> Value {
    let file = file.to_string_lossy();
    match read {
        Ok(document) => {
            let warnings: Vec<Value> = document
                .warnings()
                .iter()
                .map(|warning| json!({ "path": warning.path(), "doubt": warning.doubt().to_string() }))
                .collect();
            json!({ "file": file, "services": document.services, "warnings": warnings })
        }
        Err(error) => {
            let (line, column) = error.line_and_column().unzip();
            let problem = error.problem().to_string();
            json!({ "file": file, "line": line, "column": column, "path": error.path(), "problem": problem })
        }
    }
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

async fn dry_run(registry: &Registry, output: Output, wanted: &cli::DryRun) -> Result<Done, Failure> {
    let document = RouteDocument::from_file(&wanted.file).map_err(unusable)?;
    let requests = requests(&wanted.requests)?;
    let key = registry.key(&wanted.service);
    let qualified = format!("{}@@{}", key.group(), key.name());
    let names = [qualified.as_str(), key.name()];
    // A name without a group is of the group that the command line is about.
    let known = names.into_iter().take(if key.group() == registry.common.group { 2 } else { 1 });
    let Some(name) = known.into_iter().find(|name| document.services.contains_key(*name)) else {
        let others: Vec<&str> = document.services.keys().map(String::as_str).collect();
        let others = if others.is_empty() { "no service".to_owned() } else { others.join(", ") };
        let file = wanted.file.display();
        return Err(Failure::NotFound(format!("{file} has no rules for {qualified}; it has rules for {others}")));
    };
    let instances = listed(registry, &key).await?;
    let instances: Vec<_> =
        instances.into_iter().map(|instance| ServiceInstance::new(key.clone(), Arc::new(instance))).collect();
    let run = document.dry_run(name, &requests, &instances).map_err(unusable)?;
    if output.json() {
        output.document(&run)?;
    } else {
        show(output, &run)?;
    }
    Ok(if run.may_fail() == 0 { Done::Fine } else { Done::Found })
}

fn unusable(error: RouteError) -> Failure {
    Failure::Usage(error.to_string())
}

/// Of a file of requests, in bytes.
const MOST_REQUESTS: u64 = 64 * 1024 * 1024;

/// The requests of a file, one a line.
fn requests(file: &Path) -> Result<Vec<RecordedRequest>, Failure> {
    let text = input::text(file, MOST_REQUESTS)
        .map_err(|error| Failure::Usage(format!("{}: cannot be read: {error}", file.display())))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let requests = lines.map(|(index, line)| {
        let told = |error| Failure::Usage(format!("{}:{}: {error}", file.display(), index + 1));
        RecordedRequest::from_json(line).map_err(told)
    });
    requests.collect()
}

fn show(output: Output, run: &DryRun) -> Result<(), Failure> {
    let (tone, verdict) = match run.may_fail() {
        0 => (Tone::Good, format!("{} find an instance", counted(run.requests.len(), "request"))),
        some => (Tone::Bad, format!("{some} of {} may find nobody", counted(run.requests.len(), "request"))),
    };
    output.toned(&[(None, &run.service), (None, ": "), (Some(tone), &verdict)])?;
    let instances = counted(run.instances, "instance");
    output.toned(&[(Some(Tone::Faint), "with  "), (None, &instances), (None, " that can take requests")])?;
    for rule in &run.rules {
        let count = format!("{:>6}", rule.requests);
        let tone = (rule.requests == 0).then_some(Tone::Doubtful);
        output.toned(&[(tone, &count), (None, "  by rule "), (None, &rule.rule)])?;
    }
    output.toned(&[(None, &format!("{:>6}", run.without_rule)), (None, "  by no rule, to the baseline")])?;
    if run.requests.is_empty() {
        return Ok(());
    }
    output.line("")?;
    let rows = run.requests.iter().flat_map(rows).collect();
    output.table(&["request", "rule", "to", "share", "instances", "else"], rows)
}

fn rows(request: &DryRunRequest) -> Vec<Row> {
    let miss = match request.miss.as_str() {
        "fail" => "fail".to_owned(),
        miss => format!("{miss} ({})", request.miss_instances),
    };
    let row = |(index, to): (usize, &nacos_discovery::route::DryRunDestination)| {
        let first = |text: &str| if index == 0 { text.to_owned() } else { String::new() };
        let tone = match (to.instances, request.miss_instances) {
            (0, 0) => Some(Tone::Bad),
            (0, _) => Some(Tone::Doubtful),
            _ => None,
        };
        let share = format!("{} %", to.percent);
        let rule = first(request.rule.as_deref().unwrap_or("-"));
        let cells =
            [first(&request.request), rule, to.destination.clone(), share, to.instances.to_string(), miss.clone()];
        Row::new(cells).toned(tone)
    };
    request.to.iter().enumerate().map(row).collect()
}
