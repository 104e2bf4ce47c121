//! One of three instances begins to fail. It is taken out of the choice and probed until it is well, while the callers notice
//! nothing.
//!
//! ```text
//! cargo run -p examples --bin failing_instance
//! ```
#![expect(clippy::print_stdout, reason = "what it prints is what it is for")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use examples::{Error, Provider, until};
use http::StatusCode;
use nacos_discovery::adapters::reqwest::ReqwestBalanced;
use nacos_discovery::{
    BalanceLayer, BalanceSettings, Discovery, DiscoveryConfig, EjectSettings, EjectionEvent, EjectionKind,
    RetrySettings, ServiceSettings,
};
use nacos_server_min::Server;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

const SERVICE: &str = "order-service";
/// Pause of the caller between two calls.
const PAUSE: Duration = Duration::from_millis(2);
/// Shorter than the default of 1 s, so that the example is.
const FIRST_EJECTION: Duration = Duration::from_millis(200);
const LONGEST_EJECTION: Duration = Duration::from_secs(1);
/// As by default.
const FAILURES_THAT_EJECT: u32 = 5;
/// How many probes of the broken instance fail at least before it is repaired.
const PROBES: u64 = 2;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let server = Server::builder().start().await?;
    let registry = server.server_addr();
    let mut providers = Vec::new();
    for _ in 0..3 {
        providers.push(Provider::start(&registry, SERVICE, |instance| instance).await?);
    }

    let discovery = Discovery::new(DiscoveryConfig::builder().server_addr(&registry).build()?)?;
    let directory = discovery.directory_with(BalanceSettings::new(settings()));
    let web = ReqwestBalanced::new(reqwest::Client::new(), &BalanceLayer::new(&directory));
    let line = TimeLine { start: Instant::now() };
    let seen = Arc::new(Seen::default());
    let listener = directory.on_ejection({
        let seen = Arc::clone(&seen);
        move |event| {
            line.print(&describe(&event));
            seen.note(&event);
            async {}
        }
    })?;
    let caller = Caller::begin(web);

    let broken = providers[0].http();
    until("every instance was called", || providers.iter().all(|provider| provider.http().calls() >= 50)).await?;
    line.print("all three answer");
    line.print(&format!("{} breaks: it answers 500", broken.addr()));
    broken.break_down();
    until("its probes have failed", || seen.ejections() > PROBES).await?;
    line.print("it is repaired");
    broken.repair();
    until("it is restored", || seen.restorations() >= 1).await?;
    // Every ejection but the first one was the end of a probe.
    let (failed, probes) = (broken.failures(), seen.ejections() - 1);
    line.print(&format!("of its {failed} failures {probes} were probes, and the others led to its ejection"));
    let since = broken.calls();
    until("it has its share again", || broken.calls() >= since + 50).await?;
    line.print("all three answer");

    let (calls, failures) = caller.end().await?;
    line.print(&format!("{failures} of {calls} calls failed"));
    listener.unsubscribe().await;
    discovery.shutdown(Duration::from_secs(5)).await;
    for provider in providers {
        provider.stop().await?;
    }
    server.shutdown().await;
    if failures > 0 {
        return Err(format!("{failures} calls failed").into());
    }
    if failed != u64::from(FAILURES_THAT_EJECT) + probes {
        return Err("an ejected instance had calls beside the probes".into());
    }
    Ok(())
}

/// A status of 500 may come of the request, so it is repeated only where that is
/// said, as here.
fn settings() -> ServiceSettings {
    let ejection = EjectSettings::new()
        .with_consecutive_failures(FAILURES_THAT_EJECT)
        .with_pause(FIRST_EJECTION, LONGEST_EJECTION);
    let retry = RetrySettings::default().with_status(StatusCode::INTERNAL_SERVER_ERROR);
    ServiceSettings::default().with_ejection(Some(ejection)).with_retry(retry)
}

fn describe(event: &EjectionEvent) -> String {
    let instance = event.instance.uri();
    match event.kind {
        EjectionKind::Ejected { until, cause, .. } => {
            let pause = until.saturating_duration_since(event.at).as_millis();
            format!("{instance} is ejected for {pause} ms: {cause:?}")
        }
        EjectionKind::Restored => format!("{instance} is restored"),
        other => format!("{instance}: {other:?}"),
    }
}

/// Prints what happened with the time since the start.
#[derive(Clone, Copy)]
struct TimeLine {
    start: Instant,
}

impl TimeLine {
    fn print(self, what: &str) {
        println!("{:>7.3} s  {what}", self.start.elapsed().as_secs_f64());
    }
}

/// How often what happened.
#[derive(Default)]
struct Seen {
    ejections: AtomicU64,
    restorations: AtomicU64,
}

impl Seen {
    fn note(&self, event: &EjectionEvent) {
        match event.kind {
            EjectionKind::Ejected { .. } => self.ejections.fetch_add(1, Ordering::Relaxed),
            EjectionKind::Restored => self.restorations.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
    }

    fn ejections(&self) -> u64 {
        self.ejections.load(Ordering::Relaxed)
    }

    fn restorations(&self) -> u64 {
        self.restorations.load(Ordering::Relaxed)
    }
}

/// Somebody who calls the service again and again.
struct Caller {
    stop: CancellationToken,
    task: JoinHandle<(u64, u64)>,
}

impl Caller {
    fn begin(web: ReqwestBalanced) -> Self {
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        // Ends after the call under way once it is told to.
        let task = tokio::spawn(async move {
            let (mut calls, mut failures) = (0, 0);
            while !stopped.is_cancelled() {
                calls += 1;
                failures += u64::from(call(&web).await.is_err());
                sleep(PAUSE).await;
            }
            (calls, failures)
        });
        Self { stop, task }
    }

    /// How many calls there were, and how many failed.
    async fn end(self) -> Result<(u64, u64), Error> {
        self.stop.cancel();
        Ok(self.task.await?)
    }
}

async fn call(web: &ReqwestBalanced) -> Result<String, Error> {
    Ok(web.get("lb://order-service/").send().await?.error_for_status()?.text().await?)
}
