//! Our server beside those that others wrote, each asked the same through the wire of gRPC, one after the other.

use std::time::{Duration, Instant};

use nacos_proto::grpc::Instance;
use tokio::time::sleep;

use super::fanout::{Audience, SERVICE, Speaker};
use super::process::Process;
use super::raw::{Connection, first_instance, instance_number};
use super::report::{Better, Figure, Table, percentile};
use super::rival::{Rival, or_told};
use super::{Failure, Scale, memory, server};

const SUBSCRIBERS: usize = 100;
const INSTANCES: usize = 100;
const FEW: usize = 4;
const WARM_UP: usize = 3;
const FIRST_PORT: i32 = 20_000;
/// Between two changes, so that the next one meets subscribers that have acknowledged.
const PAUSE: Duration = Duration::from_millis(20);
/// For a server that has just started to come to rest.
const REST: Duration = Duration::from_secs(2);

/// One table for each rival that the environment names.
pub(crate) async fn run(scale: Scale) -> Result<Vec<Table>, Failure> {
    let mut tables = Vec::new();
    for rival in Rival::present() {
        let mut table = Table::new(format!("Our server beside {}", rival.name()), rival.name());
        rates(scale, &rival, &mut table).await?;
        pushes(scale, &rival, &mut table).await?;
        sizes(scale, &rival, &mut table).await?;
        tables.push(table);
    }
    Ok(tables)
}

async fn rates(scale: Scale, rival: &Rival, table: &mut Table) -> Result<(), Failure> {
    let calls = scale.of(40_000, 2_000);
    let ours = Process::start()?;
    let mine = server::registrations(ours.grpc(), calls).await?;
    drop(ours);
    let theirs = Process::start_rival(rival).await?;
    let other = or_told(rival, "registrations", server::registrations(theirs.grpc(), calls).await);
    let name = format!("{calls} registrations by gRPC, one in each service");
    table.push(Figure::new(name, "/s", Better::More).ours(mine).peer(other));
    Ok(())
}

async fn pushes(scale: Scale, rival: &Rival, table: &mut Table) -> Result<(), Failure> {
    let changes = scale.of(50, 5);
    for subscribers in [1, SUBSCRIBERS] {
        let mut mine = until_all_have(&Process::start()?, subscribers, changes, Speaker::Ours).await?;
        let theirs = Process::start_rival(rival).await?;
        let measured = until_all_have(&theirs, subscribers, changes, Speaker::Foreign).await;
        let mut other = or_told(rival, "pushes", measured);
        for percent in [50, 99] {
            let name = format!("a change of {INSTANCES} instances → the last of {subscribers} subscribers: p{percent}");
            table.push(
                Figure::new(name, "ms", Better::Less)
                    .ours(percentile(&mut mine, percent))
                    .peer(other.as_mut().map(|times| percentile(times, percent))),
            );
        }
    }
    Ok(())
}

/// Milliseconds. Each instance is another client's: not every server takes several of one client.
async fn until_all_have(
    server: &Process,
    subscribers: usize,
    changes: usize,
    speaker: Speaker,
) -> Result<Vec<f64>, Failure> {
    let publisher = Connection::open_answering(server.grpc()).await?;
    publisher.registered().await?;
    publisher.register(SERVICE.to_owned(), first_instance(0)).await?;
    let mut others = Vec::new();
    for number in 1..INSTANCES {
        let connection = Connection::open_answering(server.grpc()).await?;
        connection.registered().await?;
        connection.register(SERVICE.to_owned(), instance_number(number)).await?;
        others.push(connection);
    }
    // What is merged or late is over then.
    sleep(REST).await;
    let mut audience = Audience::gather(server.grpc(), subscribers, speaker).await?;
    let mut times = Vec::new();
    for number in 1..=changes + WARM_UP {
        // Another port, as r-nacos pushes no change of metadata; there, and only there, the instance of the port before stays.
        let port = FIRST_PORT + i32::try_from(number)?;
        let start = Instant::now();
        publisher.register(SERVICE.to_owned(), Instance { port, ..first_instance(0) }).await?;
        let heard = audience.all_hear(Some(format!(r#""port":{port}"#))).await?;
        if number > WARM_UP {
            times.push(heard.last.duration_since(start).as_secs_f64() * 1e3);
        }
        sleep(PAUSE).await;
    }
    Ok(times)
}

async fn sizes(scale: Scale, rival: &Rival, table: &mut Table) -> Result<(), Failure> {
    let instances = scale.of(100_000, 5_000);
    let ours = Process::start()?;
    sleep(REST).await;
    let mine = (ours.memory()?, memory::fill(&ours, FEW, instances, instances).await?);
    drop(ours);
    let theirs = Process::start_rival(rival).await?;
    sleep(REST).await;
    let idle = theirs.memory()?;
    let filled = or_told(rival, "memory", memory::fill(&theirs, FEW, instances, instances).await);
    table.push(Figure::new("resident memory idle", "MB", Better::Less).ours(mine.0 / 1e6).peer(idle / 1e6));
    let each = |(before, after): (f64, f64)| (after - before) / instances as f64;
    table.push(
        Figure::new(format!("… for each of {instances} services of one instance"), "B", Better::Less)
            .ours(each(mine.1))
            .peer(filled.map(each)),
    );
    Ok(())
}
