//! Picking one instance by weight from the local list: time, allocations, threads.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use nacos_proto::grpc::Instance;
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

use super::peer::{self, Peer};
use super::raw::{Connection, instance};
use super::report::{Better, Figure, Table, median};
use super::{Failure, Scale, ours};

const READY: Duration = Duration::from_secs(20);

/// Every size on one server, ours and the peer's in turn.
pub(crate) fn run(runtime: &Runtime, scale: Scale) -> Result<Table, Failure> {
    let mut table = Table::new("Pick one healthy instance from the local list", peer::NAME);
    let server = runtime.block_on(ours::Server::start(0))?;
    for size in scale.of(vec![10, 100, 1_000, 10_000], vec![10, 100]) {
        let service = format!("pick-{size}");
        let provider = runtime.block_on(provide(&server, &service, size))?;
        let mine = runtime.block_on(Mine::ready(&server, &service, size))?;
        let theirs = if scale.peer { runtime.block_on(Theirs::ready(&server, &service, size))? } else { None };
        measure(&mut table, &mine, theirs.as_ref(), size, scale);
        runtime.block_on(mine.client.close());
        drop(provider);
    }
    runtime.block_on(server.stop());
    Ok(table)
}

fn measure(table: &mut Table, mine: &Mine, theirs: Option<&Theirs>, size: usize, scale: Scale) {
    let peer_time = theirs.map(|t| nanoseconds(scale, || t.pick()));
    let peer_count = theirs.map(|t| allocations(|| t.pick()));
    let time = |what: &str| Figure::new(format!("{size} instances, {what}"), "ns", Better::Less).peer(peer_time);
    let count = |what: &str| {
        let name = format!("{size} instances, {what}: allocations");
        Figure::new(name, "", Better::Less).peer(peer_count).target("0")
    };
    table.push(time("by name").ours(nanoseconds(scale, || mine.by_name())).target("≤ 150 ns"));
    table.push(time("by handle").ours(nanoseconds(scale, || mine.by_handle())).target("≤ 40 ns"));
    table.push(time("by handle, pick_with").ours(nanoseconds(scale, || mine.with())).target("≤ 40 ns"));
    table.push(count("by name").ours(allocations(|| mine.by_name())));
    table.push(count("by handle").ours(allocations(|| mine.by_handle())));
    table.push(count("by handle, pick_with").ours(allocations(|| mine.with())));
    for threads in [1, 2] {
        let name = format!("{size} instances, {threads} threads: picks by handle");
        let peer = theirs.map(|t| throughput(scale, threads, || t.pick()));
        let ours = throughput(scale, threads, || mine.by_handle());
        table.push(Figure::new(name, "/µs", Better::More).ours(ours).peer(peer));
        let name = format!("{size} instances, {threads} threads: picks by handle, pick_with");
        table.push(Figure::new(name, "/µs", Better::More).ours(throughput(scale, threads, || mine.with())).peer(peer));
    }
}

/// A connection that holds `size` instances of different weight.
pub(crate) async fn provide(server: &ours::Server, service: &str, size: usize) -> Result<Connection, Failure> {
    let connection = Connection::open(server.grpc()).await?;
    connection.registered().await?;
    let instances =
        (1..=i32::try_from(size)?).map(|port| Instance { weight: f64::from(1 + port % 4), ..instance(port) });
    connection.register_batch(service, instances.collect()).await?;
    Ok(connection)
}

/// Our client with the list at hand.
struct Mine {
    client: ours::Client,
    handle: ours::Handle,
    service: String,
}

impl Mine {
    async fn ready(server: &ours::Server, service: &str, size: usize) -> Result<Self, Failure> {
        let client = ours::Client::connect(server.http()).await?;
        let handle = client.handle(service, size, READY).await?;
        Ok(Self { client, handle, service: service.to_owned() })
    }

    fn by_name(&self) -> u16 {
        self.client.pick(black_box(&self.service))
    }

    fn by_handle(&self) -> u16 {
        self.handle.pick()
    }

    fn with(&self) -> u16 {
        self.handle.pick_with()
    }
}

/// The peer with the list in its cache.
pub(crate) struct Theirs {
    client: Peer,
    service: String,
}

impl Theirs {
    /// `None` when the list never comes.
    pub(crate) async fn ready(server: &ours::Server, service: &str, size: usize) -> Result<Option<Self>, Failure> {
        let client = Peer::connect(server.http()).await?;
        client.naming.get_all_instances(service.to_owned(), group(), Vec::new(), true).await?;
        // Only the first push fills its cache; from then on a call does not wait.
        let full = async {
            loop {
                let call = client.naming.get_all_instances(service.to_owned(), group(), Vec::new(), true);
                if call.now_or_never().is_some_and(|list| list.is_ok_and(|list| list.len() == size)) {
                    return;
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        if timeout(READY, full).await.is_err() {
            return Ok(None);
        }
        Ok(Some(Self { client, service: service.to_owned() }))
    }

    pub(crate) fn pick(&self) -> i32 {
        // With the list in the cache the call never waits, so it needs no runtime around it.
        let call = self.client.naming.select_one_healthy_instance(self.service.clone(), group(), Vec::new(), true);
        call.now_or_never().expect("the list is in the cache").expect("it has healthy instances").port
    }
}

fn group() -> Option<String> {
    Some(peer::GROUP.to_owned())
}

/// Time of one call: the median of several rounds.
pub(crate) fn nanoseconds<R>(scale: Scale, call: impl Fn() -> R) -> f64 {
    let round = scale.of(Duration::from_millis(100), Duration::from_millis(10));
    let once = per_call(&call, Duration::from_millis(10));
    let calls = (round.as_nanos() as f64 / once).max(1.0) as u64;
    let mut rounds: Vec<f64> = (0..scale.of(11, 3)).map(|_| many(&call, calls)).collect();
    median(&mut rounds)
}

/// Warms up and estimates.
fn per_call<R>(call: &impl Fn() -> R, at_least: Duration) -> f64 {
    let mut calls = 1;
    loop {
        let time = many(call, calls);
        if time * calls as f64 >= at_least.as_nanos() as f64 {
            return time;
        }
        calls *= 2;
    }
}

fn many<R>(call: &impl Fn() -> R, calls: u64) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        black_box(call());
    }
    start.elapsed().as_nanos() as f64 / calls as f64
}

/// Allocations of one call, counted on this thread only. The first calls may set up what belongs to the thread.
pub(crate) fn allocations<R>(call: impl Fn() -> R) -> f64 {
    const CALLS: u32 = 16;
    many(&call, u64::from(CALLS));
    let seen = allocation_counter::measure(|| {
        for _ in 0..CALLS {
            black_box(call());
        }
    });
    seen.count_total as f64 / f64::from(CALLS)
}

/// Calls per microsecond of all threads together: the median of several rounds.
pub(crate) fn throughput<R>(scale: Scale, threads: usize, call: impl Fn() -> R + Sync) -> f64 {
    let round = scale.of(Duration::from_millis(200), Duration::from_millis(20));
    let calls = (round.as_nanos() as f64 / per_call(&call, Duration::from_millis(10))).max(1.0) as u64;
    let mut rounds: Vec<f64> = (0..scale.of(7, 3))
        .map(|_| {
            let start = Barrier::new(threads);
            let time = thread::scope(|scope| {
                let run = || {
                    start.wait();
                    many(&call, calls)
                };
                let running: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
                running.into_iter().map(|t| t.join().expect("a pick does not panic")).fold(0.0, f64::max)
            });
            threads as f64 * 1_000.0 / time
        })
        .collect();
    median(&mut rounds)
}
