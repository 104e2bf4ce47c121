//! Requests through the gateway of the examples, beside a proxy that only sends them on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokio::task::JoinSet;

use super::gateway_proxies::{self, SERVICE};
use super::http_load::{Link, Request};
use super::machine::cpu_seconds;
use super::process::{Process, Role};
use super::report::{Better, Figure, Table, median, percentile};
use super::{Failure, Scale};

const INSTANCES: usize = 3;

/// A load: kept connections with one request at a time on each, and the length of the answers.
struct Load {
    connections: usize,
    answer: usize,
    calls: usize,
}

/// Both proxies in turn, before the same instances and under the same load.
pub(crate) async fn run(scale: Scale) -> Result<Vec<Table>, Failure> {
    let loads = [
        Load { connections: 64, answer: 32, calls: scale.of(40_000, 2_000) },
        Load { connections: 8, answer: 32, calls: scale.of(20_000, 2_000) },
        Load { connections: 64, answer: 65_536, calls: scale.of(10_000, 1_000) },
    ];
    let mut tables = Vec::new();
    for load in loads {
        tables.push(measure(&load, scale.of(15, 3)).await?);
    }
    Ok(tables)
}

async fn measure(load: &Load, rounds: usize) -> Result<Table, Failure> {
    let Load { connections, answer, calls } = load;
    let title = format!(
        "Gateway: {calls} requests by {connections} connections to {INSTANCES} instances, answers of {answer} bytes, \
         median of {rounds}"
    );
    let mut table = Table::new(title, "bare hyper-util proxy");
    let instances =
        (0..INSTANCES).map(|_| Process::start_idle(Role::IdleHttp, *answer)).collect::<Result<Vec<_>, _>>()?;
    let addresses: Vec<_> = instances.iter().map(Process::http).collect();
    let proxies = [gateway_proxies::ours(&addresses).await?, gateway_proxies::bare(&addresses).await?];
    let mut seen = [Seen::default(), Seen::default()];
    for round in 0..=rounds {
        // Each begins as often as the other, and the first round opens the connections.
        for turn in 0..2 {
            let which = (round + turn) % 2;
            let one = once(&proxies[which], load).await?;
            if round > 0 {
                seen[which].add(one);
            }
        }
    }
    let [mut ours, mut bare] = seen;
    let mut push = |name: &str, unit, better, pick: fn(&mut Seen) -> f64, target| {
        table.push(Figure::new(name, unit, better).ours(pick(&mut ours)).peer(pick(&mut bare)).target(target));
    };
    push("requests", "/s", Better::More, |seen| median(&mut seen.rates), "≥ 0.8 times");
    push("p50", "µs", Better::Less, |seen| median(&mut seen.p50), "–");
    push("p99", "µs", Better::Less, |seen| median(&mut seen.p99), "≥ 0.667 times (1.5 times as long)");
    push("processor time of proxy and load for each", "µs", Better::Less, |seen| median(&mut seen.costs), "–");
    Ok(table)
}

/// What one round saw.
struct One {
    rate: f64,
    p50: f64,
    p99: f64,
    cost: f64,
}

/// What several rounds saw.
#[derive(Default)]
struct Seen {
    rates: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
    costs: Vec<f64>,
}

impl Seen {
    fn add(&mut self, one: One) {
        self.rates.push(one.rate);
        self.p50.push(one.p50);
        self.p99.push(one.p99);
        self.costs.push(one.cost);
    }
}

async fn once(proxy: &gateway_proxies::Proxy, load: &Load) -> Result<One, Failure> {
    let calls = load.calls;
    let mut links = Vec::new();
    for _ in 0..load.connections {
        links.push(Link::open(proxy.address).await?);
    }
    let next = Arc::new(AtomicUsize::new(0));
    let (before, start) = (cpu_seconds(), Instant::now());
    let mut callers: JoinSet<Result<Vec<f64>, Failure>> = JoinSet::new();
    for mut link in links {
        let (next, answer) = (Arc::clone(&next), load.answer);
        // Ends when so many calls have begun.
        callers.spawn(async move {
            let request = Request::get(format!("/{SERVICE}/v1/orders/7?full=true"));
            let mut times = Vec::new();
            while next.fetch_add(1, Ordering::Relaxed) < calls {
                let start = Instant::now();
                if link.ask(&request).await?.len() != answer {
                    return Err("another answer".into());
                }
                times.push(start.elapsed().as_secs_f64() * 1e6);
            }
            Ok(times)
        });
    }
    let mut times = Vec::with_capacity(calls);
    while let Some(done) = callers.join_next().await {
        times.extend(done??);
    }
    Ok(One {
        rate: calls as f64 / start.elapsed().as_secs_f64(),
        cost: (cpu_seconds() - before) * 1e6 / calls as f64,
        p50: median(&mut times),
        p99: percentile(&mut times, 99),
    })
}
