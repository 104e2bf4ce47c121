//! Many clients of one service, each of which provides and consumes it: each that comes is a change for all others.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::ours::Client;
use super::process::Process;
use super::report::{Better, Figure, Table};
use super::{Failure, Scale, machine};

const SERVICE: &str = "fleet-service";
const PATIENCE: Duration = Duration::from_secs(300);

/// All of them in this process, the server in another.
pub(crate) async fn run(scale: Scale) -> Result<Table, Failure> {
    let mut table =
        Table::new("Clients that are all subscribed to one service and begin to provide it at once", "half as many");
    let mut half: Option<Settled> = None;
    for size in scale.of(vec![125, 250, 500], vec![10, 20]) {
        let settled = settle(size).await?;
        let figure = |name: &str, unit, of: fn(&Settled) -> f64| {
            let name = format!("{size} clients: {name}");
            Figure::new(name, unit, Better::Less).ours(of(&settled)).peer(half.as_ref().map(of))
        };
        table.push(figure("until each sees all", "s", |settled| settled.seconds));
        table.push(figure("processor time of the server", "s", |settled| settled.server));
        table.push(figure("processor time of all clients", "s", |settled| settled.clients));
        half = Some(settled);
    }
    Ok(table)
}

struct Settled {
    seconds: f64,
    server: f64,
    clients: f64,
}

async fn settle(size: usize) -> Result<Settled, Failure> {
    let server = Process::start()?;
    let mut connected = Vec::new();
    for number in 0..size {
        let client = Client::connect(server.http()).await?;
        if number == 0 {
            client.register_number(SERVICE, number).await?;
        }
        // From here on it is subscribed.
        let handle = client.handle(SERVICE, 1, PATIENCE).await?;
        connected.push((client, handle));
    }
    let (start, before, own) = (Instant::now(), server.cpu_seconds(), machine::cpu_seconds());
    let mut clients: JoinSet<Result<_, Failure>> = JoinSet::new();
    for (number, (client, subscribed)) in connected.into_iter().enumerate() {
        clients.spawn(async move {
            if number > 0 {
                client.register_number(SERVICE, number).await?;
            }
            let seen = client.handle(SERVICE, size, PATIENCE).await?;
            Ok((client, subscribed, seen))
        });
    }
    let mut settled = Vec::new();
    while let Some(client) = clients.join_next().await {
        settled.push(client??);
    }
    let seconds = start.elapsed().as_secs_f64();
    let (server, clients) = (server.cpu_seconds() - before, machine::cpu_seconds() - own);
    drop(settled);
    Ok(Settled { seconds, server, clients })
}
