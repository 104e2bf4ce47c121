//! What a client and a server take and give back: allocations, memory, tasks and descriptors.
//!
//! These are counted for the whole process, so the tests of this program run one after the other.

mod balancing;
mod server;

use std::alloc::System;
use std::fs;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nacos_client::{EmptyPolicy, Instance, NamingService, Select, ServiceHandle};
use nacos_server_min::Server;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tokio::runtime::{Builder, Handle};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

static ALONE: Mutex<()> = Mutex::new(());

/// Keeps the other tests waiting.
fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A condition that does not come true for this long will not come true.
const PATIENCE: Duration = Duration::from_secs(30);

async fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "never came true within {PATIENCE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn run<T>(test: impl Future<Output = T>) -> T {
    let _alone = alone();
    Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(test)
}

/// The least that `work` allocates in several attempts: others, such as the reporter of the tests, may allocate meanwhile.
fn allocations(mut work: impl FnMut()) -> usize {
    (0..5)
        .map(|_| {
            let region = Region::new(ALLOCATOR);
            work();
            let change = region.change();
            change.allocations + change.reallocations
        })
        .min()
        .expect("there were attempts")
}

/// Bytes that are allocated and not freed.
fn heap() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated.saturating_sub(stats.bytes_deallocated)
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("the system tells").count()
}

fn client(server: &Server) -> NamingService {
    let config = NamingService::builder().servers([server.server_addr()]).empty_policy(EmptyPolicy::Accept);
    config.build().expect("the settings are valid")
}

async fn with_instances(nacos: &NamingService, name: &str, count: u16) -> ServiceHandle {
    let instances = (1..=count).map(|port| Instance::new(("10.0.0.1", port)).weight(f64::from(port % 7)));
    nacos.batch_register_instance(name, instances).await.expect("they are acknowledged");
    let handle = nacos.service(name).expect("the name is valid");
    wait_until("all are listed", || {
        handle.try_snapshot().expect("the client runs").is_some_and(|list| list.len() == usize::from(count))
    })
    .await;
    handle
}

#[test]
fn cg22_picking_allocates_nothing_at_any_size() {
    run(async {
        let server = Server::builder().start().await.expect("free ports are to be had");
        let nacos = client(&server);
        for count in [1, 10, 1_000] {
            let name = format!("orders-{count}");
            let handle = with_instances(&nacos, &name, count).await;
            let picks = allocations(|| {
                for _ in 0..1_000 {
                    handle.pick().expect("some can be picked");
                    handle.pick_with(|instance| instance.port).expect("some can be picked");
                    nacos.pick(name.as_str()).expect("some can be picked");
                }
            });
            assert_eq!(picks, 0, "with {count} instances");
            let list = handle.snapshot().await.expect("there is a list");
            let in_cluster = allocations(|| {
                for _ in 0..1_000 {
                    list.pick_in(&["DEFAULT"]).expect("some can be picked");
                }
            });
            assert_eq!(in_cluster, 0, "with {count} instances in one cluster");
        }
        // The counter counts.
        assert!(allocations(|| drop(vec![1u8])) > 0);
    });
}

#[test]
fn cg23_ten_thousand_readers_share_one_list() {
    run(async {
        let server = Server::builder().start().await.expect("free ports are to be had");
        let nacos = client(&server);
        let handle = with_instances(&nacos, "orders", 100).await;
        let mut readers = Vec::with_capacity(10_000);
        let taken = allocations(|| {
            readers.clear();
            readers
                .extend((0..10_000).map(|_| handle.try_snapshot().expect("the client runs").expect("there is a list")));
        });
        assert_eq!(taken, 0);
        assert!(readers.iter().all(|list| Arc::ptr_eq(list, &readers[0])));
    });
}

#[test]
fn cg32_a_stuck_listener_holds_two_lists_at_most() {
    const LISTED: u16 = 200;
    run(async {
        let server = Server::builder().start().await.expect("free ports are to be had");
        let (provider, consumer) = (client(&server), client(&server));
        let orders = provider.service("orders").expect("the name is valid");
        let seen = consumer.service("orders").expect("the name is valid");
        let _many = with_instances(&provider, "orders", LISTED).await;
        let registration = orders.register(Instance::new(("10.0.0.2", 1))).expect("it is valid");
        let _stuck = seen.on_change(Select::all(), |_| std::future::pending()).expect("the client runs");
        let _unread = seen.subscribe(Select::healthy());
        // The padding makes each list so large that a few of them would show.
        let change = async |round: usize| {
            registration
                .update(|i| i.metadata("round", round.to_string()).metadata("padding", "x".repeat(900)))
                .expect("it is valid");
            wait_until("the change is listed", || {
                let list = seen.try_snapshot().expect("the client runs");
                list.is_some_and(|list| {
                    list.instances().iter().any(|i| i.metadata.get("round") == Some(&round.to_string()))
                })
            })
            .await;
        };
        for round in 0..20 {
            change(round).await;
        }
        let before = heap();
        let rounds = 100;
        for round in 20..20 + rounds {
            change(round).await;
        }
        let after = heap();
        // Each list alone takes more than this: its pointers, and the instance that differs from those before.
        let one_list = usize::from(LISTED) * size_of::<usize>() + 900;
        let grown = after.saturating_sub(before);
        assert!(grown < rounds * one_list / 4, "{grown} bytes more after {rounds} lists of at least {one_list}");
    });
}

/// One life: everything is used, then all of it ends.
async fn life(server: &Server, explicitly: bool) {
    let nacos = client(server);
    let handle = with_instances(&nacos, "orders", 3).await;
    let mut changes = handle.subscribe(Select::all());
    changes.next().await.expect("the stream goes on");
    let listener = handle.on_change(Select::healthy(), |_| async {}).expect("the client runs");
    handle.pick().expect("one can be picked");
    if explicitly {
        let report = nacos.shutdown(Duration::from_secs(10)).await;
        assert!(report.clean, "{report:?}");
    }
    drop((listener, changes, handle, nacos));
}

#[test]
fn cg51_many_lives_leave_nothing_behind() {
    // A night may take a thousand and more.
    let lives = std::env::var("NACOS_TEST_LIVES").ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    run(async {
        let server = Server::builder().start().await.expect("free ports are to be had");
        let tasks = || Handle::current().metrics().num_alive_tasks();
        let idle = (tasks(), descriptors());
        let settled = async || {
            wait_until("tasks and descriptors are those of the server alone", || (tasks(), descriptors()) == idle)
                .await;
        };
        // What is made once and kept, such as tables that grow to their size, is there after the first lives.
        for number in 0..20 {
            life(&server, number % 2 == 0).await;
        }
        settled().await;
        let before = heap();
        for number in 0..lives {
            life(&server, number % 2 == 0).await;
            settled().await;
        }
        let after = heap();
        let grown = after.saturating_sub(before);
        assert!(grown <= before / 100, "{grown} bytes more after {lives} lives, {before} before");
    });
}
