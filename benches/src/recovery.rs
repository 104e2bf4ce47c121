//! A server is killed and comes back knowing nothing: how long until it knows every registration again.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::peer::{self, Peer};
use super::process::Process;
use super::raw::Connection;
use super::report::{Better, Figure, Table, median};
use super::{Failure, Scale, ours, register};

const IN_FLIGHT: usize = 64;
const PEER_SIZE: usize = 1_000;
const PEER_PATIENCE: Duration = Duration::from_secs(120);
const OUR_PATIENCE: Duration = Duration::from_secs(60);

/// Short and long absence, ours at the full size and the peer at a size it can bear.
pub(crate) async fn run(scale: Scale) -> Result<Table, Failure> {
    let (size, rounds) = scale.of((10_000, 5), (1_000, 1));
    let absences = scale.of(vec![1, 10], vec![1]);
    let mut table = Table::new("Recovery after a server restart without state, from when it listens again", peer::NAME);
    for absence in absences.into_iter().map(Duration::from_secs) {
        for (size, target) in [(size, Some("≤ 2 s")), (PEER_SIZE, None)] {
            let (mut all, mut since_first) = (Vec::new(), Vec::new());
            for _ in 0..rounds {
                let back = ours_return(size, absence).await?;
                all.push(back.all);
                since_first.push(back.all - back.first);
            }
            let peer = if scale.peer && size == PEER_SIZE { peer_return(size, absence).await? } else { None };
            let name = format!("{size} registrations, server away for {} s", absence.as_secs());
            let row = |name: String, ours: &mut [f64], peer: Option<f64>| {
                let figure = Figure::new(name, "s", Better::Less).ours(median(ours)).peer(peer);
                if let Some(target) = target { figure.target(target) } else { figure }
            };
            table.push(row(format!("{name}: all back"), &mut all, peer.map(|back| back.all)));
            let peer = peer.map(|back| back.all - back.first);
            table.push(row(format!("{name}: from the first one back to the last"), &mut since_first, peer));
        }
    }
    Ok(table)
}

/// When registrations came back, in seconds from when the server listened again.
#[derive(Clone, Copy)]
struct Return {
    first: f64,
    all: f64,
}

async fn ours_return(size: usize, absence: Duration) -> Result<Return, Failure> {
    let mut server = Process::start()?;
    let client = ours::Client::connect(server.http()).await?;
    client.register_all(size, IN_FLIGHT).await?;
    let back = restart(&mut server, size, absence, OUR_PATIENCE).await?;
    client.close().await;
    back.ok_or_else(|| "not all registrations came back".into())
}

async fn peer_return(size: usize, absence: Duration) -> Result<Option<Return>, Failure> {
    let mut server = Process::start()?;
    let client = Peer::connect(server.http()).await?;
    register::register_all(&client, size).await?;
    restart(&mut server, size, absence, PEER_PATIENCE).await
}

/// Restarts the server and waits until it holds everything; `None` when that takes too long.
async fn restart(
    server: &mut Process,
    size: usize,
    absence: Duration,
    patience: Duration,
) -> Result<Option<Return>, Failure> {
    wait_for(server.grpc(), size, Duration::from_secs(5)).await?.ok_or("not all registrations are there at first")?;
    server.kill()?;
    sleep(absence).await;
    server.restart()?;
    wait_for(server.grpc(), size, patience).await
}

async fn wait_for(address: SocketAddr, size: usize, patience: Duration) -> Result<Option<Return>, Failure> {
    let start = Instant::now();
    let witness = Connection::open(address).await?;
    witness.registered().await?;
    let mut first = None;
    while start.elapsed() < patience {
        let count = witness.count_services().await?;
        let now = start.elapsed().as_secs_f64();
        if count > 0 {
            let first = *first.get_or_insert(now);
            if count == size {
                return Ok(Some(Return { first, all: now }));
            }
        }
        sleep(Duration::from_millis(5)).await;
    }
    Ok(None)
}
