//! What the server takes in memory for connections that are held, set up and idle.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::sleep;

use super::process::{Process, Role};
use super::raw::Connection;
use super::report::{Better, Figure, Table};
use super::{Failure, Scale, machine};

const OPENERS: usize = 32;
/// Files that a process has open besides its connections, generously.
const SPARE: usize = 200;
const REST: Duration = Duration::from_secs(1);
/// Longer than the server lets a connection be silent without probing it, and than it waits for the answer.
const HOLD: Duration = Duration::from_secs(30);

/// Our server beside the tonic server that does nothing.
pub(crate) async fn run(scale: Scale) -> Result<Option<Table>, Failure> {
    let size = scale.of(10_000, 500);
    if machine::open_files().is_some_and(|limit| limit < size + SPARE) {
        println!(
            "\n### Connections: left out\n\nThis needs {} open files in each process; try `ulimit -n 20000`.",
            size + SPARE
        );
        return Ok(None);
    }
    let mut table = Table::new(format!("Server: {size} connections held, set up and idle"), "idle tonic server");
    let server = Process::start()?;
    let ours = hold(&server, server.grpc(), size, true, scale.of(HOLD, REST)).await?;
    drop(server);
    let idle = Process::start_idle(Role::IdleGrpc, 0)?;
    let yardstick = hold(&idle, idle.http(), size, false, REST).await?;
    table.push(
        Figure::new("resident memory for each", "kB", Better::Less)
            .ours(ours.each / 1e3)
            .peer(yardstick.each / 1e3)
            .target("≤ 20 kB"),
    );
    let held = format!("the same after {} s, every connection still registered", scale.of(HOLD, REST).as_secs());
    table.push(Figure::new(held, "kB", Better::Less).ours(ours.later / 1e3).target("≤ 20 kB"));
    table.push(Figure::new("opened and set up", "/s", Better::More).ours(ours.rate).peer(yardstick.rate));
    Ok(Some(table))
}

struct Held {
    /// Bytes of memory for each.
    each: f64,
    /// The same after the hold.
    later: f64,
    rate: f64,
}

async fn hold(
    server: &Process,
    address: SocketAddr,
    size: usize,
    nacos: bool,
    time: Duration,
) -> Result<Held, Failure> {
    let before = server.memory()?;
    let start = Instant::now();
    let mut openers: JoinSet<Result<Vec<Connection>, Failure>> = JoinSet::new();
    for opener in 0..OPENERS {
        openers.spawn(async move {
            let mut open = Vec::new();
            for _ in (opener..size).step_by(OPENERS) {
                let connection = Connection::open_answering(address).await?;
                connection.heard(nacos).await?;
                open.push(connection);
            }
            Ok(open)
        });
    }
    let mut all = Vec::new();
    while let Some(done) = openers.join_next().await {
        all.extend(done??);
    }
    let rate = size as f64 / start.elapsed().as_secs_f64();
    sleep(REST).await;
    let each = (server.memory()? - before) / size as f64;
    sleep(time).await;
    let later = (server.memory()? - before) / size as f64;
    for connection in &all {
        connection.heard(nacos).await?;
    }
    Ok(Held { each, later, rate })
}
