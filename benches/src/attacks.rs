//! From a change to its subscriber, two clients of good will, while others attack the server.

use std::time::{Duration, Instant};

use clap::ValueEnum;
use tokio::time::sleep;

use super::attackers::Kind;
use super::fanout::{Audience, SERVICE, Speaker};
use super::process::Process;
use super::raw::{Connection, first_instance};
use super::report::{Better, Figure, Table, percentile};
use super::{Failure, Scale, machine};

/// For an attack to be under way.
const BEGIN: Duration = Duration::from_secs(1);
/// Files that a process has open besides connections, generously.
const SPARE: usize = 200;

/// Whom the attacker attacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    /// The server of the two who are measured.
    Theirs,
    /// Another one beside it, which only takes processor time from theirs.
    Another,
}

/// First without an attack, then each attack on a server of its own, and on one beside it.
pub(crate) async fn run(scale: Scale) -> Result<Table, Failure> {
    let changes = scale.of(500, 30);
    let mut table = Table::new(
        format!("Change → its subscriber during attacks, {changes} changes each"),
        "while another server is attacked",
    );
    let mut calm = measure(None, changes).await?;
    for percent in [50, 99] {
        table.push(
            Figure::new(format!("no attack: p{percent}"), "ms", Better::Less).ours(percentile(&mut calm, percent)),
        );
    }
    for &kind in Kind::value_variants() {
        let (name, strength) = described(kind, scale);
        let mut times = measure(Some((kind, strength, Victim::Theirs)), changes).await?;
        let mut beside = measure(Some((kind, strength, Victim::Another)), changes).await?;
        for percent in [50, 99] {
            let figure = Figure::new(format!("{name}: p{percent}"), "ms", Better::Less)
                .ours(percentile(&mut times, percent))
                .peer(percentile(&mut beside, percent));
            table.push(if percent == 99 { figure.target("≤ 10 ms") } else { figure });
        }
    }
    Ok(table)
}

/// In words, and by how many connections.
fn described(kind: Kind, scale: Scale) -> (String, usize) {
    // Both processes need a file for each.
    let most = machine::open_files().map_or(10_000, |limit| limit.saturating_sub(SPARE));
    let few = scale.of(20, 5);
    match kind {
        Kind::SlowReader => (format!("{few} subscribers that read nothing of their streams"), few),
        Kind::NeverAcknowledging => (format!("{few} subscribers that acknowledge nothing"), few),
        Kind::HalfOpen => (format!("{few} subscribers that read nothing from their sockets"), few),
        Kind::UnfinishedSetUps => {
            let many = scale.of(10_000, 500).min(most);
            (format!("{many} connections that never finish their set-up"), many)
        }
        Kind::HeaderFlood => ("floods of headers and control frames on 4 connections".to_owned(), 0),
        Kind::ManyStreams => ("1 000 streams on each of 4 connections, again and again".to_owned(), 0),
        Kind::GiantBodies => (format!("messages of 10 MiB on {few} connections, and an endless HTTP body"), few),
    }
}

/// Times in milliseconds.
async fn measure(attack: Option<(Kind, usize, Victim)>, changes: usize) -> Result<Vec<f64>, Failure> {
    let (server, other) = (Process::start()?, Process::start()?);
    let publisher = Connection::open_answering(server.grpc()).await?;
    publisher.registered().await?;
    publisher.register(SERVICE.to_owned(), first_instance(0)).await?;
    let mut audience = Audience::gather(server.grpc(), 1, Speaker::Ours).await?;
    let attacker = attack
        .map(|(kind, strength, victim)| {
            let victim = if victim == Victim::Theirs { &server } else { &other };
            Process::start_attack(kind, victim, strength)
        })
        .transpose()?;
    sleep(BEGIN).await;
    let mut times = Vec::with_capacity(changes);
    for number in 1..=changes {
        // Not in step with anything.
        sleep(Duration::from_micros(fastrand::u64(1_000..8_000))).await;
        let start = Instant::now();
        publisher.register(SERVICE.to_owned(), first_instance(number)).await?;
        let heard = audience.all_have(Some(number)).await?;
        times.push(heard.last.duration_since(start).as_secs_f64() * 1e3);
    }
    drop(attacker);
    Ok(times)
}
