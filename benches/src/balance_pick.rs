//! Choosing an instance by the tables of the balancer: time, allocations, threads, by policy and size.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nacos_client::{Instance, ServiceKey};
use nacos_discovery::{
    ConsistentHash, EjectSettings, EjectionState, Endpoints, LeastRequest, Outcome, PeakEwma, PickContext, Picked,
    Random, RoundRobin, ServiceList, ServiceSettings, SmoothRoundRobin, WeightedRandom,
};
use tokio::runtime::Runtime;

use super::balance_matrix::Matrix;
use super::pick::{Theirs, allocations, nanoseconds, provide, throughput};
use super::report::median;
use super::{Failure, Scale, ours, peer};

/// Calls that are in flight at the end of a round.
const BATCH: usize = 256;
const LEAST_ROUNDS: usize = 21;
const LATENCY: Duration = Duration::from_millis(5);
/// Longer than the measurement takes.
const DAY: Duration = Duration::from_secs(86_400);
/// The instance that is ejected.
const BAD_PORT: u16 = 3;

/// What a row is measured with.
#[derive(Clone, Copy)]
struct Row {
    name: &'static str,
    settings: fn() -> ServiceSettings,
    ejected: bool,
}

const ROWS: [Row; 8] = [
    Row { name: "`WeightedRandom`", settings: weighted_random, ejected: false },
    Row { name: "`WeightedRandom`, one instance ejected", settings: weighted_random, ejected: true },
    Row { name: "`Random`", settings: || ServiceSettings::default().with_policy(Random::default()), ejected: false },
    Row {
        name: "`RoundRobin`",
        settings: || ServiceSettings::default().with_policy(RoundRobin::default()),
        ejected: false,
    },
    Row {
        name: "`SmoothRoundRobin`",
        settings: || ServiceSettings::default().with_policy(SmoothRoundRobin::default()),
        ejected: false,
    },
    Row {
        name: "`LeastRequest`",
        settings: || ServiceSettings::default().with_policy(LeastRequest::default()),
        ejected: false,
    },
    Row {
        name: "`PeakEwma`",
        settings: || ServiceSettings::default().with_policy(PeakEwma::default()),
        ejected: false,
    },
    Row {
        name: "`ConsistentHash`",
        settings: || ServiceSettings::default().with_policy(ConsistentHash::default()),
        ejected: false,
    },
];

fn weighted_random() -> ServiceSettings {
    ServiceSettings::default().with_policy(WeightedRandom::default())
}

/// What is measured of one row at one size.
#[derive(Debug, Clone, Copy)]
struct Seen {
    pick: f64,
    finish: f64,
    dropped: f64,
    allocations: f64,
    threads: [f64; 2],
}

/// Every policy at every size, and the peer beside.
pub(crate) fn run(runtime: &Runtime, scale: Scale) -> Result<Vec<Matrix>, Failure> {
    let sizes = scale.of(vec![10, 100, 1_000, 10_000], vec![10, 100]);
    let columns: Vec<String> = sizes.iter().map(|size| format!("{size} instances")).collect();
    let with_ratio = columns.iter().cloned().chain(["last : first".to_owned()]);
    let mut times = Matrix::new("`Endpoints::pick`, one thread, in ns", with_ratio);
    let mut ends = Matrix::new("The end of a call: time in ns", columns.clone());
    let mut counts = Matrix::new("Allocations of a pick and its end", columns.clone());
    let mut threads = Matrix::new("Picks and their ends per µs, all threads together", columns);
    for row in ROWS {
        let seen = sizes.iter().map(|size| measure(row, *size, scale)).collect::<Result<Vec<_>, _>>()?;
        let all = |read: fn(&Seen) -> f64| seen.iter().map(read).collect::<Vec<_>>();
        let default = row.name == ROWS[0].name;
        times.push(row.name, compared(all(|seen| seen.pick)), if default { "≤ 40, ratio ≤ 1.5" } else { "–" });
        counts.push(row.name, all(|seen| seen.allocations), "0");
        threads.push(format!("{}, 1 thread", row.name), all(|seen| seen.threads[0]), "–");
        threads.push(format!("{}, 2 threads", row.name), all(|seen| seen.threads[1]), "–");
        if default || row.name == "`PeakEwma`" {
            ends.push(format!("{}: `finish` with a success", row.name), all(|seen| seen.finish), "–");
            ends.push(format!("{}: dropped", row.name), all(|seen| seen.dropped), "–");
        }
    }
    if scale.peer {
        let seen = peers(runtime, &sizes, scale)?;
        let all = |read: fn(&[f64; 4]) -> f64| seen.iter().map(|one| one.as_ref().map(read)).collect::<Vec<_>>();
        times.push(peer::NAME, all(|seen| seen[0]).into_iter().chain([None]).collect::<Vec<_>>(), "–");
        counts.push(peer::NAME, all(|seen| seen[1]), "–");
        threads.push(format!("{}, 1 thread", peer::NAME), all(|seen| seen[2]), "–");
        threads.push(format!("{}, 2 threads", peer::NAME), all(|seen| seen[3]), "–");
    }
    Ok(vec![times, ends, counts, threads])
}

/// The figures, and how many times the first the last one is.
fn compared(figures: Vec<f64>) -> Vec<f64> {
    let ratio = figures.last().zip(figures.first()).map(|(last, first)| last / first);
    figures.into_iter().chain(ratio).collect()
}

fn measure(row: Row, size: usize, scale: Scale) -> Result<Seen, Failure> {
    let endpoints = endpoints(row, size)?;
    let pick = || {
        let mut cx = PickContext::new().hashed_by(fastrand::u64(..));
        endpoints.pick(&mut cx).expect("the list has usable instances")
    };
    let (first, finish) = in_batches(scale, pick, |picked| picked.finish(Outcome::Success { latency: LATENCY }));
    let (second, dropped) = in_batches(scale, pick, drop);
    Ok(Seen {
        pick: first.min(second),
        finish,
        dropped,
        allocations: allocations(|| pick().finish(Outcome::Success { latency: LATENCY })),
        threads: [1, 2].map(|threads| throughput(scale, threads, || drop(pick()))),
    })
}

/// A service of so many instances of different weights.
fn endpoints(row: Row, size: usize) -> Result<Endpoints, Failure> {
    let ejection = EjectSettings::new().with_pause(DAY, DAY);
    let settings = (row.settings)().with_ejection(Some(ejection));
    let endpoints = Endpoints::new(ServiceKey::new("", "orders"), Arc::new(settings));
    let ports = 1..=u16::try_from(size)?;
    let instance = |port: u16| Arc::new(Instance::new(("10.0.0.1", port)).weight(f64::from(1 + port % 4)));
    endpoints.apply(&ServiceList::new(1, ports.map(instance)));
    let is_ejected = |endpoints: &Endpoints| {
        endpoints.all().iter().any(|endpoint| {
            endpoint.instance().port() == BAD_PORT && matches!(endpoint.ejection(), EjectionState::Ejected { .. })
        })
    };
    let mut calls = 0;
    while row.ejected {
        let picked = endpoints.pick(&mut PickContext::new())?;
        if picked.instance().port() == BAD_PORT {
            picked.finish(Outcome::ServerFailure { latency: LATENCY });
            if is_ejected(&endpoints) {
                break;
            }
        }
        calls += 1;
        if calls > 1_000 * size {
            return Err("the instance that fails was not ejected".into());
        }
    }
    Ok(endpoints)
}

/// Nanoseconds of one pick and of one end: medians of many rounds, in each of which all calls begin before the first one ends.
fn in_batches(scale: Scale, pick: impl Fn() -> Picked, end: impl Fn(Picked)) -> (f64, f64) {
    let mut held = Vec::with_capacity(BATCH);
    let (mut picks, mut ends) = (Vec::new(), Vec::new());
    let until = Instant::now() + scale.of(Duration::from_millis(300), Duration::from_millis(30));
    while picks.len() < LEAST_ROUNDS || Instant::now() < until {
        let start = Instant::now();
        for _ in 0..BATCH {
            held.push(black_box(pick()));
        }
        let between = Instant::now();
        held.drain(..).for_each(&end);
        let stop = Instant::now();
        picks.push((between - start).as_nanos() as f64 / BATCH as f64);
        ends.push((stop - between).as_nanos() as f64 / BATCH as f64);
    }
    (median(&mut picks), median(&mut ends))
}

/// Time, allocations, and picks per µs of one and of two threads; `None` where the list never came.
fn peers(runtime: &Runtime, sizes: &[usize], scale: Scale) -> Result<Vec<Option<[f64; 4]>>, Failure> {
    let server = runtime.block_on(ours::Server::start(0))?;
    let mut seen = Vec::new();
    for size in sizes {
        let service = format!("balance-pick-{size}");
        let provider = runtime.block_on(provide(&server, &service, *size))?;
        let theirs = runtime.block_on(Theirs::ready(&server, &service, *size))?;
        seen.push(theirs.map(|theirs| {
            let pick = || theirs.pick();
            let threads = [1, 2].map(|threads| throughput(scale, threads, pick));
            [nanoseconds(scale, pick), allocations(pick), threads[0], threads[1]]
        }));
        drop(provider);
    }
    runtime.block_on(server.stop());
    Ok(seen)
}
