//! From a list to the tables that picks read: the first list of a service, and lists that differ little from the one before.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nacos_client::{Instance, ServiceKey};
use nacos_discovery::route::{Destination, Label, RouteRules, Rule, Test};
use nacos_discovery::{Applied, Endpoints, PickContext, ServiceList, ServiceSettings};

use super::balance_matrix::Matrix;
use super::report::{median, percentile};
use super::{Failure, Scale};

/// How a list differs from the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Difference {
    Nothing,
    OneWeight,
    OneRemoved,
    EveryWeight,
}

const DIFFERENCES: [(Difference, &str); 4] = [
    (Difference::Nothing, "a list without a change"),
    (Difference::OneWeight, "another weight of one instance"),
    (Difference::OneRemoved, "one instance less, then one more"),
    (Difference::EveryWeight, "another weight of every instance"),
];

/// Milliseconds of each kind of list, and what picks of another thread notice of them.
pub(crate) fn run(scale: Scale) -> Result<Vec<Matrix>, Failure> {
    let sizes = scale.of(vec![1_000, 10_000, 50_000], vec![1_000, 10_000]);
    let columns: Vec<String> = sizes.iter().map(|size| format!("{size} instances")).collect();
    let mut times = Matrix::new("From a decoded list to picks that see it, in ms", columns.clone());
    let mut waits = Matrix::new("Picks of another thread meanwhile, in µs", columns);
    let rounds = scale.of(31, 5);
    let first = sizes.iter().map(|size| firsts(*size, rounds, service)).collect::<Result<Vec<_>, _>>()?;
    times.push("the first list: median", first.iter().map(|seen| seen.0), "≤ 5 at 10 000");
    times.push("the first list: fastest", first.iter().map(|seen| seen.1), "–");
    let first = sizes.iter().map(|size| firsts(*size, rounds, routed)).collect::<Result<Vec<_>, _>>()?;
    times.push("the first list, ten rules on three labels: median", first.iter().map(|seen| seen.0), "–");
    times.push("the first list, ten rules on three labels: fastest", first.iter().map(|seen| seen.1), "–");
    for (difference, name) in DIFFERENCES {
        let seen = sizes.iter().map(|size| later(*size, difference, rounds)).collect::<Result<Vec<_>, _>>()?;
        let target = if difference == Difference::EveryWeight { "–" } else { "≤ 5 at 10 000" };
        times.push(format!("{name}: median"), seen.iter().map(|seen| seen.time), target);
        times.push(format!("{name}: fastest"), seen.iter().map(|seen| seen.fastest), "–");
        waits.push(format!("{name}: p99.9"), seen.iter().map(|seen| seen.usual), "–");
        waits.push(format!("{name}: longest"), seen.iter().map(|seen| seen.longest), "–");
    }
    let quiet = sizes.iter().map(|size| undisturbed(*size, scale)).collect::<Result<Vec<_>, _>>()?;
    waits.push("nobody applies lists: p99.9", quiet.iter().map(|seen| seen.0), "–");
    waits.push("nobody applies lists: longest", quiet.iter().map(|seen| seen.1), "–");
    Ok(vec![times, waits])
}

fn service() -> Endpoints {
    Endpoints::new(ServiceKey::new("", "orders"), Arc::new(ServiceSettings::default()))
}

/// With rules: nine headers for three labels, and a share of the rest.
fn routed() -> Endpoints {
    let label = |version: &str| Label::new("version", version);
    let rules = (0..9).fold(RouteRules::new().with_baseline(label("1.7.3")), |rules, at| {
        let rule = Rule::new(format!("rule-{at}")).when_header("x-version", Test::exact(at.to_string()));
        rules.with_rule(rule.to(label(VERSIONS[at % 3])))
    });
    let canary = Rule::new("canary").share(10.0, label(VERSIONS[0])).share(90.0, Destination::Baseline);
    let endpoints = service();
    endpoints.set_rules(Some(&rules.with_rule(canary))).expect("the rules can be used");
    endpoints
}

/// Beside the one that most instances have.
const VERSIONS: [&str; 3] = ["1.8.0", "1.8.1", "1.9.0"];

/// As a decoder leaves it: nothing is shared with the list before.
fn decoded(size: usize, round: usize, difference: Difference) -> Vec<Arc<Instance>> {
    let odd = round % 2 == 1;
    let count = if odd && difference == Difference::OneRemoved { size - 1 } else { size };
    let instance = |number: usize| {
        let [_, b, c, d] = (number as u32).to_be_bytes();
        let changes = match difference {
            Difference::OneWeight => number == size / 2,
            Difference::EveryWeight => true,
            Difference::Nothing | Difference::OneRemoved => false,
        };
        let weight = if odd && changes { 5 } else { 1 + number % 4 };
        let instance = Instance::new((format!("10.{b}.{c}.{d}"), 8080)).weight(weight as f64);
        // Three in twenty are of another version.
        let version = VERSIONS.get(number % 20).copied().unwrap_or("1.7.3");
        Arc::new(instance.metadata("version", version).metadata("zone", "b"))
    };
    (0..count).map(instance).collect()
}

/// Milliseconds: the median and the least.
fn firsts(size: usize, rounds: usize, service: fn() -> Endpoints) -> Result<(f64, f64), Failure> {
    let mut times = Vec::new();
    for _ in 0..rounds {
        let (endpoints, instances) = (service(), decoded(size, 0, Difference::Nothing));
        let start = Instant::now();
        // It lives for longer than is measured: whoever decoded it lets go of it later.
        let list = ServiceList::new(1, instances);
        endpoints.apply(&list);
        drop(endpoints.pick(&mut PickContext::new())?);
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok((median(&mut times), percentile(&mut times, 0)))
}

struct Seen {
    time: f64,
    fastest: f64,
    usual: f64,
    longest: f64,
}

fn later(size: usize, difference: Difference, rounds: usize) -> Result<Seen, Failure> {
    let endpoints = service();
    endpoints.apply(&ServiceList::new(1, decoded(size, 0, difference)));
    // Ready beforehand, so that the other thread is disturbed by nothing else.
    let lists: Vec<_> = (1..=rounds).map(|round| decoded(size, round, difference)).collect();
    let expected = if difference == Difference::Nothing { Applied::Unchanged } else { Applied::Replaced };
    let over = AtomicBool::new(false);
    let mut times = Vec::new();
    let (picks, applied) = thread::scope(|scope| {
        let picks = scope.spawn(|| picks_until(&endpoints, || over.load(Ordering::Relaxed)));
        let mut applied = Ok(());
        for (number, instances) in lists.into_iter().enumerate() {
            let start = Instant::now();
            let list = ServiceList::new(number as u64 + 2, instances);
            let what = endpoints.apply(&list);
            times.push(start.elapsed().as_secs_f64() * 1e3);
            if what != expected {
                applied = Err(format!("{difference:?}: {what:?}"));
            }
        }
        over.store(true, Ordering::Relaxed);
        (picks.join().expect("a pick does not panic"), applied)
    });
    applied?;
    let mut picks = picks?;
    Ok(Seen {
        time: median(&mut times),
        fastest: percentile(&mut times, 0),
        usual: thousandth(&mut picks),
        longest: percentile(&mut picks, 100),
    })
}

/// The same picks while nothing else happens: what the machine itself does to them.
fn undisturbed(size: usize, scale: Scale) -> Result<(f64, f64), Failure> {
    let endpoints = service();
    endpoints.apply(&ServiceList::new(1, decoded(size, 0, Difference::Nothing)));
    let end = Instant::now() + Duration::from_millis(scale.of(500, 50));
    let mut picks = picks_until(&endpoints, || Instant::now() >= end)?;
    Ok((thousandth(&mut picks), percentile(&mut picks, 100)))
}

/// Microseconds of each pick.
fn picks_until(endpoints: &Endpoints, is_over: impl Fn() -> bool) -> Result<Vec<f64>, Failure> {
    let mut times = Vec::with_capacity(1 << 20);
    while !is_over() {
        let start = Instant::now();
        let picked = endpoints.pick(&mut PickContext::new());
        let time = start.elapsed();
        drop(picked?);
        // Growing the list of times would be seen as a long pick, so what is over it is kept only if it is long.
        if times.len() < times.capacity() {
            times.push(time.as_nanos() as f64 / 1e3);
        } else if let Some(last) = times.last_mut()
            && *last < time.as_nanos() as f64 / 1e3
        {
            *last = time.as_nanos() as f64 / 1e3;
        }
    }
    Ok(times)
}

/// What 999 of 1000 do not exceed.
fn thousandth(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get((times.len() * 999).div_ceil(1_000).saturating_sub(1)).copied().unwrap_or(0.0)
}
