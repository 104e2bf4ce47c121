//! Measures the project beside the crate `nacos-sdk` and beside a server that does nothing; see `BENCHMARKS.md`.

mod attackers;
mod attacks;
mod balance_layer;
mod balance_loopback;
mod balance_matrix;
mod balance_peers;
mod balance_pick;
mod balance_update;
mod beats;
mod beside;
mod client_beats;
mod connections;
mod fanout;
mod fleet;
mod gateway;
mod gateway_proxies;
mod http;
mod http_load;
mod huge;
mod idle_http;
mod idle_server;
mod incoming;
mod latency;
mod machine;
mod memory;
mod ours;
mod peer;
mod pick;
mod pickers_fleet;
mod pickers_nacos_sdk;
mod pickers_ours;
mod pickers_tonic;
mod pickers_tower;
mod process;
mod raw;
mod recovery;
mod register;
mod report;
mod rival;
mod route;
mod server;

use std::net::SocketAddr;
use std::path::PathBuf;

use balance_matrix::Matrix;
use clap::{Parser, Subcommand};
use machine::Machine;
use process::Role;
use report::Table;
use serde_json::{Value, json};

/// Whatever went wrong ends the run.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Prints figures of this project and of the crate nacos-sdk, measured in the same run.
#[derive(Debug, Parser)]
struct Options {
    #[command(subcommand)]
    part: Option<Part>,
    /// Fewer sizes and rounds: shows that everything runs, not how fast.
    #[arg(long, global = true)]
    quick: bool,
    /// Leaves the peer's column empty.
    #[arg(long, global = true)]
    no_peer: bool,
    /// Also writes the figures to this file.
    #[arg(long, global = true, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, Subcommand)]
enum Part {
    /// Everything below.
    All,
    /// Picking one instance from the local list: time, allocations, threads.
    Pick,
    /// Choosing an instance by the tables of the balancer.
    BalancePick,
    /// Choosing an instance by routing rules.
    Route,
    /// What the layers of the balancer add to a call.
    BalanceLayer,
    /// From a list to the tables of the balancer.
    BalanceUpdate,
    /// Who sends how many requests to an instance that fails, joins, is slow, or does not listen.
    BalancePeers,
    /// Requests through the gateway of the examples, beside a proxy that only sends them on.
    Gateway,
    /// Registrations per second through one client, client and server in one process.
    Register {
        /// Only this many services.
        #[arg(long)]
        services: Option<usize>,
    },
    /// From a change by one client to its sight by another.
    Latency {
        /// A running server instead of ours.
        #[arg(long, value_name = "IP:PORT")]
        server: Option<SocketAddr>,
        /// How many changes.
        #[arg(long)]
        changes: Option<usize>,
    },
    /// From the return of a server that lost everything to the return of every registration.
    Recovery,
    /// Registrations per second that the server takes, beside a tonic server that does nothing.
    Server,
    /// From a change to the moment when the last of 100 subscribers has the list of 100 instances.
    Fanout,
    /// Resident memory of the server's process: idle, and for each instance.
    Memory,
    /// Memory that the server takes for each of 10 000 connections.
    Connections,
    /// Lists and registrations per second over HTTP, beside an axum server that does nothing.
    Http,
    /// Beats per second over HTTP, and what 14 000 and 30 000 beating instances cost.
    Beats {
        /// Only what so many beating instances cost.
        #[arg(long)]
        instances: Option<usize>,
    },
    /// Our server beside a real Nacos and r-nacos, where `NACOS_BENCH_NACOS` and `NACOS_BENCH_RNACOS` name them.
    Beside,
    /// What the beats of 1 000 instances cost the client.
    ClientBeats,
    /// What a change costs in a service with very many instances.
    Huge,
    /// How long many clients of one service take until each knows all.
    Fleet,
    /// From a change to its subscriber while somebody attacks the server.
    Attacks,
    /// Attacks a server until it is killed.
    #[command(hide = true)]
    Attack {
        #[arg(long)]
        kind: attackers::Kind,
        #[arg(long)]
        server: SocketAddr,
        #[arg(long)]
        strength: usize,
    },
    /// Runs a server until it is killed (used by most parts above).
    #[command(hide = true)]
    Serve {
        #[arg(long)]
        port: u16,
        #[arg(long)]
        role: Role,
        #[arg(long)]
        answer: usize,
    },
}

/// How much to do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    /// See [`Options::quick`].
    pub(crate) quick: bool,
    /// False under [`Options::no_peer`].
    pub(crate) peer: bool,
}

impl Scale {
    /// One of two amounts.
    pub(crate) fn of<T>(self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}

fn main() -> Result<(), Failure> {
    let options = Options::parse();
    let part = options.part.unwrap_or(Part::All);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    if let Part::Attack { kind, server, strength } = part {
        return runtime.block_on(attackers::run(kind, server, strength));
    }
    if let Part::Serve { port, role: Role::NacosCounted, .. } = part {
        return process::serve_counted(port);
    }
    if let Part::Serve { port, role, answer } = part {
        return runtime.block_on(process::serve(role, port, answer));
    }
    let machine = Machine::look();
    println!("{machine}");
    let scale = Scale { quick: options.quick, peer: !options.no_peer };
    let mut done = Vec::new();
    if matches!(part, Part::All | Part::Pick) {
        done.push(shown(&pick::run(&runtime, scale)?));
    }
    if matches!(part, Part::All | Part::BalancePick) {
        done.extend(balance_pick::run(&runtime, scale)?.iter().map(shown_matrix));
    }
    if matches!(part, Part::All | Part::Route) {
        done.extend(route::run(scale)?.iter().map(shown_matrix));
    }
    if matches!(part, Part::All | Part::BalanceUpdate) {
        done.extend(balance_update::run(scale)?.iter().map(shown_matrix));
    }
    if matches!(part, Part::All | Part::BalanceLayer) {
        done.push(shown_matrix(&balance_layer::around_nothing(&runtime, scale)?));
    }
    // In a task of its own: the thread that blocks would be one more beside those of the runtime.
    done.extend(runtime.block_on(runtime.spawn(over_the_wire(part, scale)))??);
    if let Some(file) = options.json {
        let whole: Value = json!({"machine": machine.to_json(), "quick": scale.quick, "tables": done});
        std::fs::write(file, serde_json::to_string_pretty(&whole)?)?;
    }
    Ok(())
}

/// The parts that talk to servers all the time.
async fn over_the_wire(part: Part, scale: Scale) -> Result<Vec<Value>, Failure> {
    let mut done = Vec::new();
    if matches!(part, Part::All | Part::Server) {
        done.push(shown(&server::run(scale).await?));
    }
    match part {
        Part::Register { services } => done.push(shown(&register::run(scale, services).await?)),
        Part::All => done.push(shown(&register::run(scale, None).await?)),
        _ => {}
    }
    match part {
        Part::Latency { server, changes } => done.push(shown(&latency::run(scale, server, changes).await?)),
        Part::All => done.push(shown(&latency::run(scale, None, None).await?)),
        _ => {}
    }
    if matches!(part, Part::All | Part::Recovery) {
        done.push(shown(&recovery::run(scale).await?));
    }
    if matches!(part, Part::All | Part::BalanceLayer) {
        done.push(shown_matrix(&balance_loopback::run(scale).await?));
    }
    if matches!(part, Part::All | Part::Gateway) {
        done.extend(gateway::run(scale).await?.iter().map(shown));
    }
    if matches!(part, Part::All | Part::BalancePeers) {
        done.push(shown_matrix(&balance_peers::run(scale).await?));
    }
    done.extend(of_the_server(part, scale).await?);
    Ok(done)
}

/// The parts that ask what the server's own process takes.
async fn of_the_server(part: Part, scale: Scale) -> Result<Vec<Value>, Failure> {
    let mut done = Vec::new();
    if matches!(part, Part::All | Part::Fanout) {
        done.push(shown(&fanout::run(scale).await?));
    }
    if matches!(part, Part::All | Part::Memory) {
        done.push(shown(&memory::run(scale).await?));
    }
    if matches!(part, Part::All | Part::Connections) {
        done.extend(connections::run(scale).await?.as_ref().map(shown));
    }
    if matches!(part, Part::All | Part::Http) {
        done.push(shown(&http::run(scale).await?));
    }
    match part {
        Part::Beats { instances: Some(size) } => done.extend(beats::only(scale, size).await?.iter().map(shown)),
        Part::All | Part::Beats { instances: None } => done.extend(beats::run(scale).await?.iter().map(shown)),
        _ => {}
    }
    if matches!(part, Part::Beside) || (matches!(part, Part::All) && scale.peer) {
        done.extend(beside::run(scale).await?.iter().map(shown));
    }
    if matches!(part, Part::All | Part::ClientBeats) {
        done.push(shown(&client_beats::run(scale).await?));
    }
    if matches!(part, Part::All | Part::Huge) {
        done.push(shown(&huge::run(scale).await?));
    }
    if matches!(part, Part::All | Part::Fleet) {
        done.push(shown(&fleet::run(scale).await?));
    }
    if matches!(part, Part::All | Part::Attacks) {
        done.push(shown(&attacks::run(scale).await?));
    }
    Ok(done)
}

fn shown_matrix(matrix: &Matrix) -> Value {
    println!("{}", matrix.to_markdown());
    matrix.to_json()
}

fn shown(table: &Table) -> Value {
    println!("{}", table.to_markdown());
    table.to_json()
}
