//! One service with very many instances: what a change of it costs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::sleep;

use super::fanout::{Audience, SERVICE, Speaker};
use super::http_load::{Request, seconds};
use super::process::Process;
use super::raw::{Connection, first_instance, instance_number};
use super::report::{Better, Figure, Table, median};
use super::{Failure, Scale};

const IN_FLIGHT: usize = 64;
const CONNECTIONS: usize = 16;
/// Instances that one client registers at once when the service is filled.
const BATCH: usize = 5_000;
const SMALL: usize = 10;
/// Between two changes that are pushed, so that the next one meets subscribers that have acknowledged.
const PAUSE: Duration = Duration::from_millis(60);

/// Without subscribers many changes at once, with subscribers one after the other.
pub(crate) async fn run(scale: Scale) -> Result<Table, Failure> {
    let sizes = scale.of(vec![SMALL, 10_000, 50_000], vec![SMALL, 1_000]);
    let mut table = Table::new(
        "One huge service: the server's processor time for each change, and its pushes",
        "with 10 instances",
    );
    registrations(scale, &mut table).await?;
    let mut least: [Option<Cost>; 3] = [None; 3];
    for size in sizes {
        for (subscribers, least) in [0, 1, 100].into_iter().zip(&mut least) {
            let cost = if subscribers == 0 {
                silent(size, scale.of(20_000, 2_000)).await?
            } else {
                // The longest lists go to all subscribers only a few times.
                pushed(size, subscribers, scale.of((2_000_000 / size / subscribers).clamp(5, 200), 3)).await?
            };
            let small = *least.get_or_insert(cost);
            push_rows(&mut table, size, subscribers, cost, small);
            let bytes = allocated(size, subscribers, scale.of(20, 3)).await?;
            let name =
                format!("{size} instances, {subscribers} subscribers: bytes that the server allocates and fills");
            table.push(Figure::new(name, "kB", Better::Less).ours(bytes / 1e3));
        }
    }
    Ok(table)
}

/// The same number of registrations, into one service and into many.
async fn registrations(scale: Scale, table: &mut Table) -> Result<(), Failure> {
    let (calls, rounds) = scale.of((10_000, 3), (1_000, 1));
    let (mut one, mut many) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let small = move |number: usize| Request::register(&format!("order-service-{}", number / SMALL), number);
        for (costs, shared) in [(&mut many, false), (&mut one, true)] {
            let server = Process::start()?;
            let before = server.cpu_seconds();
            if shared {
                seconds(server.http(), CONNECTIONS, calls, |number| Request::register(SERVICE, number)).await?;
            } else {
                seconds(server.http(), CONNECTIONS, calls, small).await?;
            }
            costs.push((server.cpu_seconds() - before) * 1e6 / calls as f64);
        }
    }
    table.push(
        Figure::new(
            format!("{calls} HTTP registrations into one service, beside as many into services of {SMALL}, median of {rounds}"),
            "µs",
            Better::Less,
        )
        .ours(median(&mut one))
        .peer(median(&mut many))
        .target("≥ 0.5 times"),
    );
    Ok(())
}

/// What one change costs.
#[derive(Clone, Copy)]
struct Cost {
    /// Microseconds of the server's processor time.
    cpu: f64,
    /// From the change to the last subscriber, in milliseconds.
    last: Option<f64>,
    /// To all subscribers together.
    bytes: Option<f64>,
}

fn push_rows(table: &mut Table, size: usize, subscribers: usize, cost: Cost, small: Cost) {
    let name = format!("{size} instances, {subscribers} subscribers");
    let beside = |value: Option<f64>| value.filter(|_| size > SMALL);
    let figure =
        Figure::new(format!("{name}: processor time"), "µs", Better::Less).ours(cost.cpu).peer(beside(Some(small.cpu)));
    table.push(if subscribers == 0 && size == 10_000 { figure.target("≥ 0.5 times") } else { figure });
    if subscribers > 0 {
        table.push(
            Figure::new(format!("{name}: until the last one has it, median"), "ms", Better::Less)
                .ours(cost.last)
                .peer(beside(small.last)),
        );
        table.push(
            Figure::new(format!("{name}: bytes pushed to all"), "kB", Better::Less)
                .ours(cost.bytes.map(|bytes| bytes / 1e3))
                .peer(beside(small.bytes.map(|bytes| bytes / 1e3))),
        );
    }
}

/// A service of this size, and the client that has its first instance.
async fn filled(server: &Process, size: usize) -> Result<(Connection, Vec<Connection>), Failure> {
    let publisher = Connection::open_answering(server.grpc()).await?;
    publisher.registered().await?;
    publisher.register(SERVICE.to_owned(), first_instance(0)).await?;
    let mut others = Vec::new();
    for from in (1..size).step_by(BATCH) {
        let connection = Connection::open_answering(server.grpc()).await?;
        connection.registered().await?;
        let instances = (from..size.min(from + BATCH)).map(instance_number).collect();
        connection.register_batch(SERVICE, instances).await?;
        others.push(connection);
    }
    Ok((publisher, others))
}

/// Changes that nobody hears of.
async fn silent(size: usize, changes: usize) -> Result<Cost, Failure> {
    let server = Process::start()?;
    let (publisher, _others) = filled(&server, size).await?;
    let (publisher, next) = (Arc::new(publisher), Arc::new(AtomicUsize::new(0)));
    let before = server.cpu_seconds();
    let mut callers: JoinSet<Result<(), Failure>> = JoinSet::new();
    for _ in 0..IN_FLIGHT {
        let (publisher, next) = (Arc::clone(&publisher), Arc::clone(&next));
        callers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= changes {
                    return Ok(());
                }
                publisher.register(SERVICE.to_owned(), first_instance(number)).await?;
            }
        });
    }
    while let Some(done) = callers.join_next().await {
        done??;
    }
    let cpu = (server.cpu_seconds() - before) * 1e6 / changes as f64;
    Ok(Cost { cpu, last: None, bytes: None })
}

/// Bytes that the server allocates for one change, with all its pushes.
async fn allocated(size: usize, subscribers: usize, changes: usize) -> Result<f64, Failure> {
    let mut server = Process::start_counted()?;
    let (publisher, _others) = filled(&server, size).await?;
    let mut audience = Audience::gather(server.grpc(), subscribers, Speaker::Ours).await?;
    let mut bytes = 0.0;
    for number in 1..=changes {
        sleep(PAUSE).await;
        server.allocated()?;
        publisher.register(SERVICE.to_owned(), first_instance(number)).await?;
        audience.all_have(Some(number)).await?;
        bytes += server.allocated()?;
    }
    Ok(bytes / changes as f64)
}

/// Changes that subscribers get, each before the next.
async fn pushed(size: usize, subscribers: usize, changes: usize) -> Result<Cost, Failure> {
    let server = Process::start()?;
    let (publisher, _others) = filled(&server, size).await?;
    let mut audience = Audience::gather(server.grpc(), subscribers, Speaker::Ours).await?;
    publisher.register(SERVICE.to_owned(), first_instance(1)).await?;
    audience.all_have(Some(1)).await?;
    let (mut times, mut bytes, mut cpu) = (Vec::new(), 0, 0.0);
    for number in 2..changes + 2 {
        sleep(PAUSE).await;
        let (before, start) = (server.cpu_seconds(), Instant::now());
        publisher.register(SERVICE.to_owned(), first_instance(number)).await?;
        let heard = audience.all_have(Some(number)).await?;
        times.push(heard.last.duration_since(start).as_secs_f64() * 1e3);
        bytes += heard.total;
        cpu += server.cpu_seconds() - before;
    }
    let each = |sum: f64| sum / changes as f64;
    Ok(Cost { cpu: each(cpu) * 1e6, last: Some(median(&mut times)), bytes: Some(each(bytes as f64)) })
}
