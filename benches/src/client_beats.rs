//! What it costs a client to keep its instances alive by beats over HTTP. The server is a process of its own.

use std::time::Duration;

use nacos_client::{Instance, NamingService, Protocol};
use tokio::time::{Instant, sleep};

use super::process::Process;
use super::report::{Better, Figure, Table};
use super::{Failure, Scale, machine};

const INSTANCES: u16 = 1_000;
/// Every instance beats once in it.
const PERIOD: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) async fn run(scale: Scale) -> Result<Table, Failure> {
    let periods: u32 = scale.of(12, 2);
    let server = Process::start()?;
    let nacos = NamingService::builder()
        .servers([server.http().to_string()])
        .protocol(Protocol::Http)
        .deadline(PATIENCE)
        .build()?;
    let mut registrations = Vec::with_capacity(INSTANCES.into());
    for number in 0..INSTANCES {
        // One instance to a service, as most processes have it.
        let handle = nacos.service(format!("beating-{number}").as_str())?;
        let instance = Instance::new(("127.0.0.1", 10_000 + number)).metadata("version", "v1");
        registrations.push(handle.register(instance)?);
    }
    for registration in &registrations {
        registration.confirmed().await?;
    }
    // The first ones say everything about the instances, all later ones next to nothing.
    sleep(PERIOD * 2).await;
    let (before, begun, used) = (nacos.stats(), Instant::now(), machine::cpu_seconds());
    sleep(PERIOD * periods).await;
    let used = machine::cpu_seconds() - used;
    let (stats, elapsed) = (nacos.stats(), begun.elapsed());
    let beats = stats.beats - before.beats;
    if beats == 0 || stats.beats_failed > 0 {
        return Err(format!("{beats} beats, {} of them failed", stats.beats_failed).into());
    }
    let mut table =
        Table::new(format!("Beats of {INSTANCES} instances of one client, for {} s", elapsed.as_secs()), "");
    let figure = |name, unit| Figure::new(name, unit, Better::Less);
    table.push(figure("processor time for 1 000 beats", "ms").ours(used * 1e6 / beats as f64));
    table.push(figure("share of one core", "%").ours(100.0 * used / elapsed.as_secs_f64()).target("≤ 1 %"));
    table.push(
        figure("beats that left more than a period late", "")
            .ours((stats.beats_late - before.beats_late) as f64)
            .target("0"),
    );
    nacos.shutdown(PATIENCE).await;
    Ok(table)
}
