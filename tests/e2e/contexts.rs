//! Where a client may be built, used and dropped: in every kind of runtime and thread, and nowhere does it panic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use nacos_client::{NamingService, QueryError, Registration, Select, ServiceHandle, StartError, Subscription};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::support::client::{LONG, mine, no_task_is_left, on_a_runtime_of_its_own};
use crate::support::consumer::{lists, next, prompt, service};
use crate::support::wait::in_time;
use crate::support::world::{Registry, World, unique};

/// A client with everything it can have.
struct Used {
    nacos: NamingService,
    orders: ServiceHandle,
    _registration: Registration,
    changes: Subscription,
}

/// Builds a client of the server and uses it for everything.
async fn used(registry: &Registry) -> Used {
    let nacos = prompt(registry);
    let orders = service(&nacos, &unique("orders"));
    let registration = orders.register(mine(1)).expect("it is valid");
    registration.confirmed_within(LONG).await.expect("it is acknowledged");
    let mut changes = orders.subscribe(Select::all());
    next(&mut changes).await;
    lists(&orders, &[1]).await;
    assert_eq!(orders.pick().expect("one can be picked").port, 1);
    let listener = orders.on_change(Select::all(), |_| async {}).expect("the client runs");
    drop(listener);
    Used { nacos, orders, _registration: registration, changes }
}

/// The server and its relay live on a runtime of their own, so that nothing here depends on the one under test.
struct Elsewhere {
    registry: Registry,
    runtime: Runtime,
}

impl Elsewhere {
    fn new() -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let registry = runtime.block_on(World::Standard.registry());
        Self { registry, runtime }
    }

    fn connections(&self) -> usize {
        self.registry.server().connections().len()
    }

    /// Waits until the clients of `runtime` are gone; one of a single thread works only while it is waited on.
    fn is_left_by(&self, runtime: &Runtime) {
        runtime.block_on(no_task_is_left());
        self.is_left();
    }

    /// Waits until the clients are gone.
    fn is_left(&self) {
        self.runtime.block_on(crate::support::wait::wait_until("the connection is closed", || self.connections() == 0));
    }
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn multi_thread() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

#[test]
fn t01_used_and_dropped_inside_every_kind_of_runtime() {
    let server = Elsewhere::new();
    for runtime in [current_thread(), multi_thread()] {
        runtime.block_on(async { drop(used(&server.registry).await) });
        server.is_left_by(&runtime);
        // In a task, and in a set of tasks that stay on their thread.
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime, async { drop(used(&server.registry).await) });
        server.is_left_by(&runtime);
        // On a thread where blocking is allowed, inside the runtime.
        runtime.block_on(async {
            let registry = &server.registry;
            let client = used(registry).await;
            tokio::task::spawn_blocking(move || {
                client.orders.pick().expect("one can be picked");
                Handle::current().block_on(client.orders.refresh()).expect("the server answers");
                drop(client);
            })
            .await
            .expect("nothing panics");
        });
        server.is_left_by(&runtime);
    }
}

#[test]
fn t01_used_and_dropped_on_threads_without_a_runtime() {
    let server = Elsewhere::new();
    let runtime = multi_thread();
    // Built where there is no runtime, and used there: an error that says so, no panic.
    let nacos = prompt(&server.registry);
    let orders = service(&nacos, &unique("orders"));
    assert!(orders.register(mine(1)).is_err() && orders.pick().is_err());
    assert!(orders.on_change(Select::all(), |_| async {}).is_err());
    // The first use inside a runtime starts it, from then on a plain thread will do.
    let registration = runtime.block_on(async {
        let registration = orders.register(mine(1)).expect("there is a runtime");
        registration.confirmed_within(LONG).await.expect("it is acknowledged");
        lists(&orders, &[1]).await;
        registration
    });
    std::thread::scope(|scope| {
        let plain = scope.spawn(|| {
            assert_eq!(orders.pick().expect("one can be picked").port, 1);
            registration.update(|instance| instance.weight(2.0)).expect("it is valid");
            let changes = orders.subscribe(Select::all());
            drop(changes);
            drop(orders.on_change(Select::all(), |_| async {}).expect("the client runs"));
        });
        plain.join().expect("nothing panics");
    });
    // Waiting needs a clock, which a plain thread has not.
    let without = futures_util::FutureExt::now_or_never(orders.ready());
    assert!(matches!(without, Some(Err(QueryError::Start(StartError::NoRuntime)))), "{without:?}");
    std::thread::spawn(move || drop((registration, orders, nacos))).join().expect("nothing panics");
    server.is_left();
}

#[test]
fn t01_dropped_while_unwinding() {
    let server = Elsewhere::new();
    for runtime in [current_thread(), multi_thread()] {
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(async {
                let _client = used(&server.registry).await;
                panic!("a fault of the application");
            })
        }));
        assert!(unwound.is_err());
        server.is_left_by(&runtime);
    }
}

#[test]
fn t01_used_and_dropped_after_its_runtime_has_ended() {
    let server = Elsewhere::new();
    for runtime in [current_thread(), multi_thread()] {
        let mut client = runtime.block_on(used(&server.registry));
        drop(runtime);
        server.is_left();
        let other = current_thread();
        other.block_on(async {
            assert!(client.orders.register(mine(2)).is_err(), "it ran on the runtime that is gone");
            assert!(client.orders.query().await.is_err());
            assert!(in_time("the end of the stream", client.changes.next()).await.is_none());
            in_time("the shutdown", client.nacos.shutdown(Duration::from_millis(100))).await;
        });
        drop(client);
    }
    // Begun on one runtime and shut down from another.
    let runtime = multi_thread();
    let client = runtime.block_on(used(&server.registry));
    let report = current_thread().block_on(client.nacos.shutdown(LONG));
    assert!(report.clean, "{report:?}");
    server.is_left();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t01_built_inside_and_dropped_within_an_async_task_of_another_runtime() {
    let registry = World::Standard.registry().await;
    let client = used(&registry).await;
    on_a_runtime_of_its_own(move || async move {
        client.orders.pick().expect("one can be picked");
        client.orders.refresh().await.expect("the server answers");
        drop(client);
    })
    .await;
    crate::support::wait::wait_until("the connection is closed", || registry.server().connections().is_empty()).await;
}
