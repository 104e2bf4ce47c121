//! What it takes to keep instances alive by beats over HTTP, beside servers that others wrote, where there are any.

use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::http_load::{Link, Request, seconds};
use super::process::Process;
use super::report::{Better, Figure, Table};
use super::rival::{Rival, or_told};
use super::{Failure, Scale, server};

const CONNECTIONS: usize = 16;
/// Connections over which beats come at their pace.
const SENDERS: usize = 64;
const PERIOD: Duration = Duration::from_secs(5);
const SERVICE_SIZE: usize = 100;

/// A table without a rival, and two for each rival that the environment names.
pub(crate) async fn run(scale: Scale) -> Result<Vec<Table>, Failure> {
    let mut tables = Vec::new();
    for rival in rivals(scale) {
        tables.push(rates(scale, rival.as_ref()).await?);
        tables.push(lives(scale, &scale.of([14_000, 30_000], [1_000, 2_000]), rival.as_ref()).await?);
    }
    Ok(tables)
}

/// What this number of beating instances costs, and nothing else.
pub(crate) async fn only(scale: Scale, size: usize) -> Result<Vec<Table>, Failure> {
    let mut tables = Vec::new();
    for rival in rivals(scale) {
        tables.push(lives(scale, &[size], rival.as_ref()).await?);
    }
    Ok(tables)
}

/// Whom to stand beside: nobody, if nobody is there.
fn rivals(scale: Scale) -> Vec<Option<Rival>> {
    let present: Vec<_> = Rival::present().into_iter().filter(|_| scale.peer).map(Some).collect();
    if present.is_empty() { vec![None] } else { present }
}

fn name(rival: Option<&Rival>) -> &'static str {
    rival.map_or("nobody", Rival::name)
}

/// As fast as it goes.
async fn rates(scale: Scale, rival: Option<&Rival>) -> Result<Table, Failure> {
    let calls = scale.of(40_000, 2_000);
    let mut table = Table::new(
        format!("Beats and registrations: {CONNECTIONS} kept connections for HTTP, {calls} requests"),
        name(rival),
    );
    let ours = Rates::measure(|| async { Process::start() }, calls).await?;
    let peer = match rival {
        Some(rival) => or_told(rival, "rates", Rates::measure(|| Process::start_rival(rival), calls).await),
        None => None,
    };
    let figure = |name: &str, unit, better, of: fn(&Rates) -> Option<f64>| {
        Figure::new(name, unit, better).ours(of(&ours)).peer(peer.as_ref().and_then(of))
    };
    table.push(figure("light beats of known instances", "/s", Better::More, |rates| Some(rates.beats)));
    table.push(figure("… processor time for each", "µs", Better::Less, |rates| Some(rates.beat_cost)));
    table.push(figure("registrations by HTTP", "/s", Better::More, |rates| Some(rates.http)));
    table.push(figure("registrations by gRPC", "/s", Better::More, |rates| rates.grpc));
    table.push(figure("gRPC : HTTP", "", Better::More, |rates| Some(rates.grpc? / rates.http)));
    Ok(table)
}

/// At the pace of clients.
async fn lives(scale: Scale, sizes: &[usize], rival: Option<&Rival>) -> Result<Table, Failure> {
    let watched = scale.of(30, 5);
    let mut table = Table::new(
        format!("Instances that beat every 5 s over {SENDERS} kept connections, for {watched} s"),
        name(rival),
    );
    for &size in sizes {
        let ours = Life::watch(Process::start()?, size, watched, Flaps::ByRevision).await?;
        let peer = match rival {
            Some(rival) => {
                let server = Process::start_rival(rival).await?;
                let life = Life::watch(server, size, watched, Flaps::ByHealth).await;
                or_told(rival, &format!("{size} beating instances"), life)
            }
            None => None,
        };
        let figure = |name: &str, unit, of: fn(&Life) -> f64| {
            let name = format!("{size} instances: {name}");
            Figure::new(name, unit, Better::Less).ours(of(&ours)).peer(peer.as_ref().map(of))
        };
        table.push(figure("share of one core", "%", |life| life.percent_of_core).target("≤ 10 % at 14 000"));
        table.push(figure("resident memory", "MB", |life| life.megabytes).target("≤ 50 MB at 14 000"));
        table.push(figure("lists that changed meanwhile", "", |life| life.flaps).target("0"));
    }
    Ok(table)
}

/// The same for everybody: so many instances to a service, each with an address of its own.
fn service(number: usize) -> String {
    format!("beat-service-{}", number / SERVICE_SIZE)
}

fn registration(number: usize) -> Request {
    Request::register(&service(number), number)
}

fn beat(number: usize) -> Request {
    Request::beat(&service(number), number)
}

/// What a server does as fast as it can.
struct Rates {
    beats: f64,
    beat_cost: f64,
    http: f64,
    grpc: Option<f64>,
}

impl Rates {
    async fn measure<S: Future<Output = Result<Process, Failure>>>(
        start: impl Fn() -> S,
        calls: usize,
    ) -> Result<Self, Failure> {
        let process = start().await?;
        let http = calls as f64 / seconds(process.http(), CONNECTIONS, calls, registration).await?;
        let before = process.cpu_seconds();
        let beats = calls as f64 / seconds(process.http(), CONNECTIONS, calls, beat).await?;
        let beat_cost = (process.cpu_seconds() - before) * 1e6 / calls as f64;
        // Another one, in which nothing is registered yet.
        drop(process);
        let process = start().await?;
        let grpc = server::registrations(process.grpc(), calls).await.ok();
        Ok(Self { beats, beat_cost, http, grpc })
    }
}

/// How it is told that an instance was not always healthy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaps {
    /// The time stamp of a list is that of its last change.
    ByRevision,
    /// Lists are stamped anew with every answer: only what is seen counts.
    ByHealth,
}

/// What beating instances cost a server over some time.
struct Life {
    percent_of_core: f64,
    megabytes: f64,
    flaps: f64,
}

impl Life {
    async fn watch(process: Process, size: usize, watched: u64, by: Flaps) -> Result<Self, Failure> {
        seconds(process.http(), CONNECTIONS, size, registration).await?;
        let mut senders: JoinSet<Result<(), Failure>> = JoinSet::new();
        let start = Instant::now();
        for sender in 0..SENDERS {
            let share = size * sender / SENDERS..size * (sender + 1) / SENDERS;
            senders.spawn(keep_alive(
                process.http(),
                share,
                start + PERIOD * u32::try_from(sender)? / u32::try_from(SENDERS)?,
            ));
        }
        // Everybody has beaten twice, and what was unhealthy for want of it is healthy again.
        sleep_until(start + PERIOD * 2).await;
        let before = states(&mut Link::open(process.http()).await?, size, by).await?;
        let (begun, used) = (Instant::now(), process.cpu_seconds());
        sleep_until(begun + Duration::from_secs(watched)).await;
        let percent_of_core = 100.0 * (process.cpu_seconds() - used) / begun.elapsed().as_secs_f64();
        let megabytes = process.memory()? / 1e6;
        // The first one was idle for longer than some servers keep a connection.
        let after = states(&mut Link::open(process.http()).await?, size, by).await?;
        if let Some(Ok(failed)) = senders.try_join_next() {
            failed?;
        }
        Ok(Self { percent_of_core, megabytes, flaps: flaps(&before, &after) })
    }
}

/// The services whose lists differ.
fn flaps(before: &[State], after: &[State]) -> f64 {
    before.iter().zip(after).filter(|(before, after)| before != after).count() as f64
}

/// Beats for each of its instances once in a period, evenly; until it is aborted.
async fn keep_alive(server: SocketAddr, instances: Range<usize>, start: Instant) -> Result<(), Failure> {
    // Not sooner: some servers give up a connection whose first request does not come within 5 s.
    sleep_until(start).await;
    let mut link = Link::open(server).await?;
    let pause = PERIOD / u32::try_from(instances.len().max(1))?;
    let mut next = start;
    loop {
        for number in instances.clone() {
            sleep_until(next).await;
            next += pause;
            let answer = link.ask(&beat(number)).await?;
            let answer: serde_json::Value = serde_json::from_slice(&answer)?;
            if answer["code"] != 10_200 {
                return Err(format!("instance {number} is not known any more").into());
            }
        }
    }
}

/// What tells one list from the next: when it changed, and how many are healthy.
type State = (Option<i64>, usize);

/// Fails unless all instances are there and healthy.
async fn states(link: &mut Link, size: usize, by: Flaps) -> Result<Vec<State>, Failure> {
    let mut states = Vec::new();
    for number in (0..size).step_by(SERVICE_SIZE) {
        let list: serde_json::Value = serde_json::from_slice(&link.ask(&Request::list(&service(number))).await?)?;
        let hosts = list["hosts"].as_array().map(Vec::as_slice).unwrap_or_default();
        let healthy = hosts.iter().filter(|host| host["healthy"] == true).count();
        states.push((list["lastRefTime"].as_i64().filter(|_| by == Flaps::ByRevision), healthy));
    }
    let healthy: usize = states.iter().map(|(_, healthy)| healthy).sum();
    if healthy == size { Ok(states) } else { Err(format!("{healthy} of {size} instances are healthy").into()) }
}
