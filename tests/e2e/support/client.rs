//! Clients under test.

use std::sync::Arc;
use std::time::Duration;

use nacos_client::{
    ConnectionStatus, Instance, NamingService, NamingServiceBuilder, Protocol, ServiceHandle, ServiceSnapshot,
    Subscription, Timeouts,
};

use super::wait::{in_time, wait_until};
use super::world::Registry;

impl Registry {
    /// Settings of a client of this server.
    pub(crate) fn config(&self) -> NamingServiceBuilder {
        // Only gRPC goes through the relay: a client that may choose would go round its faults.
        NamingService::builder().servers([self.entry()]).protocol(Protocol::Grpc)
    }

    /// A client of this server with default settings.
    pub(crate) fn client(&self) -> NamingService {
        self.config().build().expect("the settings are valid")
    }
}

/// Longer than any wait of a test.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// Time limits that notice a dead link within moments; calls may take long, as tests are run on busy machines.
pub(crate) fn quick() -> Timeouts {
    let mut timeouts = Timeouts::default();
    timeouts.request = LONG;
    timeouts.connect = Duration::from_secs(1);
    timeouts.health_idle = Duration::from_millis(200);
    timeouts.health = Duration::from_millis(1500);
    timeouts
}

/// An instance of this process.
pub(crate) fn mine(port: u16) -> Instance {
    Instance::new(("127.0.0.1", port))
}

/// Waits until the client is connected.
pub(crate) async fn connected(nacos: &NamingService) {
    nacos.connected(LONG).await.expect("the server is up");
}

/// Waits until the client has lost its connection.
pub(crate) async fn disconnected(nacos: &NamingService) {
    status_that(nacos, "disconnected", |status| !status.is_connected()).await;
}

/// Waits for a status.
pub(crate) async fn status_that(
    nacos: &NamingService,
    what: &str,
    wanted: impl Fn(&ConnectionStatus) -> bool,
) -> ConnectionStatus {
    let mut watch = nacos.status();
    in_time(what, async {
        let mut status = watch.current();
        while !wanted(&status) {
            status = watch.changed(&status).await;
        }
        status
    })
    .await
}

/// How many attempts to connect have failed since the last connection.
pub(crate) fn failures(nacos: &NamingService) -> u32 {
    match nacos.status().current() {
        ConnectionStatus::Connecting { failures, .. } | ConnectionStatus::Disconnected { failures, .. } => failures,
        _ => 0,
    }
}

/// Runs `work` on a runtime of its own, in which nothing else runs.
pub(crate) async fn on_a_runtime_of_its_own<W: Future>(work: impl FnOnce() -> W + Send + 'static) -> W::Output
where
    W::Output: Send + 'static,
{
    let run = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(work())
    };
    match tokio::task::spawn_blocking(run).await {
        Ok(output) => output,
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}

/// Waits until nothing but the caller is left on its runtime.
pub(crate) async fn no_task_is_left() {
    let metrics = tokio::runtime::Handle::current().metrics();
    wait_until("all tasks have ended", || metrics.num_alive_tasks() == 0).await;
}

/// The next snapshots of a subscription, until one satisfies `wanted`.
pub(crate) async fn told(
    changes: &mut Subscription,
    what: &str,
    wanted: impl Fn(&ServiceSnapshot) -> bool,
) -> Arc<ServiceSnapshot> {
    in_time(what, async {
        loop {
            let change = changes.next().await.expect("the client runs");
            if wanted(change.snapshot()) {
                return Arc::clone(change.snapshot());
            }
        }
    })
    .await
}

/// The ports of a list, sorted.
pub(crate) fn ports(snapshot: &ServiceSnapshot) -> Vec<u16> {
    let mut ports: Vec<u16> = snapshot.instances().iter().map(|instance| instance.port).collect();
    ports.sort_unstable();
    ports
}

/// A client whose deadlines are of no concern.
pub(crate) fn patient(registry: &Registry) -> NamingService {
    registry.config().deadline(LONG).build().unwrap()
}

/// The handle of a service.
pub(crate) fn service(nacos: &NamingService, name: &str) -> ServiceHandle {
    nacos.service(name).unwrap()
}

/// How often a client was connected and lost its connection, as it tells itself.
pub(crate) fn connects_and_losses(nacos: &NamingService) -> (u64, u64) {
    let stats = nacos.stats();
    let lost = stats.lost_transport + stats.lost_unanswered + stats.lost_unregistered + stats.lost_other;
    (stats.connects, lost)
}
