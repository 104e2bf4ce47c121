//! What the server's process takes in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use super::process::Process;
use super::raw::{Connection, instance_number};
use super::report::{Better, Figure, Table};
use super::{Failure, Scale};

const IN_FLIGHT: usize = 64;
/// Connections that register one instance in each of many services.
const FEW: usize = 4;
const SERVICES: usize = 1_000;
const MEGABYTE: f64 = 1e6;
/// For what was in flight to be given back.
const REST: Duration = Duration::from_millis(500);

/// Idle, many small services, fewer larger services.
pub(crate) async fn run(scale: Scale) -> Result<Table, Failure> {
    let instances = scale.of(100_000, 5_000);
    let mut table = Table::new(
        "Server: resident memory of its process (1 MB = 1 000 000 bytes)",
        "r-nacos 0.8.8, measured before, not in this run",
    );
    let server = Process::start()?;
    sleep(REST).await;
    let idle = server.memory()?;
    drop(server);
    table.push(Figure::new("idle", "MB", Better::Less).ours(idle / MEGABYTE).peer(22.6).target("≤ 10 MB"));
    let services = SERVICES.min(instances / 10);
    for (name, connections, services) in [
        (format!("{instances} services of one instance, {FEW} clients"), FEW, instances),
        (
            format!("{instances} instances of {services} services, {} clients", instances / services),
            instances / services,
            services,
        ),
    ] {
        let (before, after) = fill(&Process::start()?, connections, services, instances).await?;
        table.push(Figure::new(name.clone(), "MB", Better::Less).ours(after / MEGABYTE));
        table.push(
            Figure::new(
                format!("{name}: for each instance, without what the connected clients take"),
                "B",
                Better::Less,
            )
            .ours((after - before) / instances as f64)
            .peer(2_000.0)
            .target("≤ 600 B"),
        );
    }
    Ok(table)
}

/// Bytes before and after so many registrations, each of another address, one of each client in a service.
pub(crate) async fn fill(
    server: &Process,
    connections: usize,
    services: usize,
    instances: usize,
) -> Result<(f64, f64), Failure> {
    let mut open = Vec::new();
    for _ in 0..connections {
        let connection = Connection::open_answering(server.grpc()).await?;
        connection.registered().await?;
        open.push(Arc::new(connection));
    }
    sleep(REST).await;
    let before = server.memory()?;
    let next = Arc::new(AtomicUsize::new(0));
    let mut callers: JoinSet<Result<(), Failure>> = JoinSet::new();
    let open = Arc::new(open);
    for _ in 0..IN_FLIGHT {
        let (open, next) = (Arc::clone(&open), Arc::clone(&next));
        callers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= instances {
                    return Ok(());
                }
                // With one-instance services any client does; else each round over all services is another client's.
                let by = if services == instances { number % open.len() } else { number / services };
                open[by].register(format!("order-service-{}", number % services), instance_number(number)).await?;
            }
        });
    }
    while let Some(done) = callers.join_next().await {
        done??;
    }
    sleep(REST).await;
    let after = server.memory()?;
    let held = open[0].count_services().await?;
    if held != services {
        return Err(format!("{services} services were confirmed, {held} are there").into());
    }
    Ok((before, after))
}
