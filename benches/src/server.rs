//! Registrations per second that the server takes from a plain load generator.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokio::task::JoinSet;

use super::idle_server::IdleServer;
use super::raw::{Connection, instance};
use super::report::{Better, Figure, Table, median};
use super::{Failure, Scale, ours};

const CONNECTIONS: usize = 4;
const IN_FLIGHT: usize = 64;

/// Both servers in turn, from the same generator.
pub(crate) async fn run(scale: Scale) -> Result<Table, Failure> {
    let (calls, rounds) = scale.of((40_000, 9), (4_000, 3));
    let mut table = Table::new(
        format!("Server: raw gRPC registrations, {CONNECTIONS} connections, {IN_FLIGHT} in flight"),
        "idle tonic server",
    );
    let (mut mine, mut idle) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let yardstick = IdleServer::start(0)?;
        idle.push(rate(yardstick.address(), calls, Kind::Idle).await?);
        drop(yardstick);
        let server = ours::Server::start(0).await?;
        mine.push(rate(server.grpc(), calls, Kind::Nacos).await?);
        server.stop().await;
    }
    table.push(
        Figure::new(format!("{calls} services, median of {rounds}"), "/s", Better::More)
            .ours(median(&mut mine))
            .peer(median(&mut idle))
            .target("≥ 0.75 times"),
    );
    Ok(table)
}

/// Registrations per second that a Nacos server takes whose gRPC port is this, one in each service.
pub(crate) async fn registrations(address: SocketAddr, calls: usize) -> Result<f64, Failure> {
    rate(address, calls, Kind::Nacos).await
}

/// What listens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nacos,
    Idle,
}

async fn rate(address: SocketAddr, calls: usize, kind: Kind) -> Result<f64, Failure> {
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        let connection = Connection::open(address).await?;
        if kind == Kind::Nacos {
            connection.registered().await?;
        }
        connections.push(Arc::new(connection));
    }
    let next = Arc::new(AtomicUsize::new(0));
    let start = Instant::now();
    let mut callers: JoinSet<Result<(), Failure>> = JoinSet::new();
    for connection in connections.iter().cycle().take(IN_FLIGHT) {
        let (connection, next) = (Arc::clone(connection), Arc::clone(&next));
        callers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= calls {
                    return Ok(());
                }
                connection.register(format!("order-service-{number}"), instance(8080)).await?;
            }
        });
    }
    while let Some(done) = callers.join_next().await {
        done??;
    }
    let rate = calls as f64 / start.elapsed().as_secs_f64();
    if kind == Kind::Nacos {
        let held = connections[0].count_services().await?;
        if held != calls {
            return Err(format!("{calls} registrations were confirmed, {held} are there").into());
        }
    }
    Ok(rate)
}
