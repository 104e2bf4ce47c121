//! Registrations per second through one client, client and server in one process.

use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt};
use tokio::time::timeout;

use super::machine::cpu_seconds;
use super::peer::{self, Peer};
use super::raw::Connection;
use super::report::{Better, Figure, Table, median};
use super::{Failure, Scale, ours};

const IN_FLIGHT: usize = 64;
/// The peer's registrations get slower with their number; it is asked up to here.
const PEER_UP_TO: usize = 10_000;
const PEER_PATIENCE: Duration = Duration::from_secs(120);

/// Each size on a fresh server with a fresh client.
pub(crate) async fn run(scale: Scale, only: Option<usize>) -> Result<Table, Failure> {
    let sizes: &[usize] = scale.of(&[1_000, 5_000, 10_000, 30_000, 100_000], &[1_000, 2_000]);
    let sizes = only.as_ref().map_or(sizes, std::slice::from_ref);
    let mut table =
        Table::new(format!("Registrations per second through one client, {IN_FLIGHT} in flight"), peer::NAME);
    for &size in sizes {
        // Small sizes are over in a blink and need more rounds.
        let rounds: u8 = scale.of(if size < 10_000 { 9 } else { 5 }, 1);
        let mut rates = Vec::new();
        let mut cpu = 0.0;
        for _ in 0..rounds {
            let run = ours_run(size).await?;
            rates.push(run.rate);
            cpu += run.cpu / f64::from(rounds);
        }
        let peer = if scale.peer && size <= PEER_UP_TO { peer_run(size).await? } else { None };
        table.push(
            Figure::new(format!("{size} services"), "/s", Better::More)
                .ours(median(&mut rates))
                .peer(peer.map(|run| run.rate))
                .target("≥ 27 000/s, flat"),
        );
        // Says what the machine could do if nothing else ran on it.
        table.push(
            Figure::new(format!("{size} services: processor time for each, both sides"), "µs", Better::Less)
                .ours(cpu)
                .peer(peer.map(|run| run.cpu)),
        );
    }
    Ok(table)
}

/// One run over one size.
#[derive(Clone, Copy)]
struct Run {
    /// Registrations per second.
    rate: f64,
    /// Processor time for each, in microseconds.
    cpu: f64,
}

/// Takes the time from its making on.
struct Clock {
    start: Instant,
    cpu: f64,
}

impl Clock {
    fn start() -> Self {
        Self { start: Instant::now(), cpu: cpu_seconds() }
    }

    fn stop(&self, size: usize) -> Run {
        let rate = size as f64 / self.start.elapsed().as_secs_f64();
        Run { rate, cpu: (cpu_seconds() - self.cpu) * 1e6 / size as f64 }
    }
}

async fn ours_run(size: usize) -> Result<Run, Failure> {
    let server = ours::Server::start(0).await?;
    let client = ours::Client::connect(server.http()).await?;
    let clock = Clock::start();
    client.register_all(size, IN_FLIGHT).await?;
    let run = clock.stop(size);
    expect_held(&server, size).await?;
    client.close().await;
    server.stop().await;
    Ok(run)
}

/// `None` when it takes too long.
async fn peer_run(size: usize) -> Result<Option<Run>, Failure> {
    let server = ours::Server::start(0).await?;
    let client = Peer::connect(server.http()).await?;
    let clock = Clock::start();
    let Ok(done) = timeout(PEER_PATIENCE, register_all(&client, size)).await else { return Ok(None) };
    done?;
    let run = clock.stop(size);
    expect_held(&server, size).await?;
    drop(client);
    server.stop().await;
    Ok(Some(run))
}

/// Registers one instance in each of `size` services through the peer.
pub(crate) async fn register_all(client: &Peer, size: usize) -> Result<(), Failure> {
    let mut calls = stream::iter(0..size)
        .map(|number| client.register(format!("order-service-{number}"), peer::instance(8080)))
        .buffer_unordered(IN_FLIGHT);
    while let Some(done) = calls.next().await {
        done?;
    }
    Ok(())
}

async fn expect_held(server: &ours::Server, size: usize) -> Result<(), Failure> {
    let witness = Connection::open(server.grpc()).await?;
    witness.registered().await?;
    match witness.count_services().await? {
        held if held == size => Ok(()),
        held => Err(format!("{size} registrations were confirmed, {held} are there").into()),
    }
}
