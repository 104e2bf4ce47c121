//! Measures the project beside the crate `nacos-sdk` and beside a server that does nothing; see `BENCHMARKS.md`.

mod idle_server;
mod latency;
mod machine;
mod ours;
mod peer;
mod pick;
mod raw;
mod recovery;
mod register;
mod report;
mod server;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use machine::Machine;
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
    /// Runs our server until it is killed (used by `recovery`).
    #[command(hide = true)]
    Serve {
        #[arg(long)]
        port: u16,
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
    if let Part::Serve { port } = part {
        return runtime.block_on(recovery::serve(port));
    }
    let machine = Machine::look();
    println!("{machine}");
    let scale = Scale { quick: options.quick, peer: !options.no_peer };
    let mut done = Vec::new();
    if matches!(part, Part::All | Part::Pick) {
        done.push(shown(&pick::run(&runtime, scale)?));
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
    Ok(done)
}

fn shown(table: &Table) -> Value {
    println!("{}", table.to_markdown());
    table.to_json()
}
