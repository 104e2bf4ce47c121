//! From registrations to picks, over real sockets.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use nacos_client::{Instance, NamingService, Registration, ServiceKey};
use nacos_discovery::{
    AddressFamily, BalanceSettings, Discovery, DiscoveryError, Endpoints, NoInstanceReason, PickContext,
    ServiceSettings, Verdict,
};
use nacos_server_min::Server;
use nacos_server_min::fault::AnswerFault;
use nacos_tests::wait::{eventually, holds_while, in_time, wait_until};
use tokio::task::AbortHandle;

use crate::support::*;

/// An application that counts its requests.
struct Counted {
    address: SocketAddr,
    requests: Arc<AtomicUsize>,
    serving: AbortHandle,
}

impl Counted {
    async fn begin() -> Self {
        let requests = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&requests);
        let app = Router::new().route("/", get(move || async move { seen.fetch_add(1, Ordering::SeqCst).to_string() }));
        let (listener, address) = listen().await;
        let serving = tokio::spawn(async move { axum::serve(listener, app).await }).abort_handle();
        Self { address, requests, serving }
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn key() -> ServiceKey {
    ServiceKey::new("", SERVICE)
}

fn provider_of(registry: &Server) -> NamingService {
    NamingService::builder().servers([registry.server_addr()]).build().expect("valid settings")
}

async fn registered(nacos: &NamingService, instance: Instance) -> Registration {
    let service = nacos.service(SERVICE).expect("a valid name");
    let registration = service.register(instance).expect("a valid instance");
    in_time("a registration", registration.confirmed()).await.expect("the registry takes it");
    registration
}

fn watched(consumer: &Discovery) -> Arc<Endpoints> {
    consumer.directory().endpoints(&key()).expect("a name")
}

fn ports(endpoints: &Endpoints) -> Vec<u16> {
    endpoints.all().iter().map(|endpoint| endpoint.instance().port()).collect()
}

async fn until_ports(endpoints: &Endpoints, expected: &[u16]) {
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    wait_until(&format!("the ports {expected:?}"), || {
        let mut ports = ports(endpoints);
        ports.sort_unstable();
        ports == expected
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sc05_what_registers_is_called_and_what_left_is_never_called_again() {
    let registry = registry().await;
    let (stays, leaves) = (Counted::begin().await, Counted::begin().await);
    let nacos = provider_of(&registry);
    let _stays = registered(&nacos, Instance::new(stays.address)).await;
    let consumer = provider(&registry);
    let endpoints = watched(&consumer);
    until_ports(&endpoints, &[stays.address.port()]).await;

    let leaving = registered(&nacos, Instance::new(leaves.address)).await;
    let web = consumer.reqwest(reqwest::Client::new());
    let call = async || web.get(format!("lb://{SERVICE}/")).send().await.unwrap().text().await.unwrap();
    eventually("a request to the new one", async || {
        call().await;
        (leaves.requests() > 0).then_some(())
    })
    .await;

    leaving.withdraw().await.unwrap();
    until_ports(&endpoints, &[stays.address.port()]).await;
    let before = (stays.requests(), leaves.requests());
    for _ in 0..200 {
        call().await;
    }
    assert_eq!((stays.requests(), leaves.requests()), (before.0 + 200, before.1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_registry_restarts_the_last_list_is_used() {
    let first = registry().await;
    let port = first.http_addr().port();
    let nacos = provider_of(&first);
    let _one = registered(&nacos, Instance::new(("127.0.0.1", 4001))).await;
    let _two = registered(&nacos, Instance::new(("127.0.0.1", 4002))).await;
    let consumer = provider(&first);
    let endpoints = watched(&consumer);
    until_ports(&endpoints, &[4001, 4002]).await;
    let nodes = endpoints.all();

    let picks = async || endpoints.pick(&mut PickContext::new()).is_ok();
    let second = holds_while("there is an instance", picks, async {
        first.shutdown().await;
        let is_stale = || endpoints.list_status().is_some_and(|status| status.stale_since().is_some());
        wait_until("the list is marked as stale", is_stale).await;
        assert_eq!(ports(&endpoints), [4001, 4002]);
        // It comes back without any state.
        let second = Server::builder().port(port).start().await.expect("the port is free again");
        wait_until("the list is kept up to date again", || !is_stale()).await;
        until_listed(&second, SERVICE, 2).await;
        second
    })
    .await;
    until_ports(&endpoints, &[4001, 4002]).await;
    let same = nodes.iter().zip(endpoints.all()).all(|(before, after)| Arc::ptr_eq(before, &after));
    assert!(same, "nothing that was known of them is lost");
    drop(second);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sc09_requests_stay_in_the_cluster_of_the_application_while_it_has_an_instance() {
    let registry = registry().await;
    let nacos = provider_of(&registry);
    let at = |port, cluster| Instance::new(("127.0.0.1", port)).cluster(cluster);
    let own = registered(&nacos, at(4001, "shanghai")).await;
    let _other = registered(&nacos, at(4002, "beijing")).await;
    let consumer = application(settings(&registry).cluster("shanghai"));
    let endpoints = watched(&consumer);
    until_ports(&endpoints, &[4001, 4002]).await;
    let picked = || {
        let mut ports: Vec<_> = (0..200)
            .map(|_| endpoints.pick(&mut PickContext::new()).map(|picked| picked.instance().port()).unwrap_or_default())
            .collect();
        ports.dedup();
        ports
    };
    assert_eq!((picked(), endpoints.cross_cluster_picks()), (vec![4001], 0));

    own.update(|instance| instance.weight(0.0)).unwrap();
    until_ports(&endpoints, &[4002]).await;
    assert_eq!((picked(), endpoints.cross_cluster_picks()), (vec![4002], 200));
    let verdicts: Vec<_> = endpoints.verdicts().into_iter().map(|(one, verdict)| (one.port(), verdict)).collect();
    assert_eq!(verdicts, [(4001, Verdict::Drained), (4002, Verdict::OtherCluster { tier: 0 })]);

    own.update(|instance| instance.weight(1.0)).unwrap();
    until_ports(&endpoints, &[4001, 4002]).await;
    assert_eq!((picked(), endpoints.cross_cluster_picks()), (vec![4001], 200), "at home again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sc10_on_a_dual_stack_machine_the_ipv6_address_of_the_metadata_is_called() {
    let registry = registry().await;
    let nacos = provider_of(&registry);
    let instance = Instance::new(("127.0.0.1", 4001)).metadata("IPv6", "[::1]");
    let _registered = registered(&nacos, instance).await;
    let _only = registered(&nacos, Instance::new(("2001:db8::1", 4002))).await;
    let consumer = provider(&registry);
    let targets = async |family| {
        let settings = ServiceSettings::default().with_address_family(family);
        let directory = consumer.directory_with(BalanceSettings::new(settings));
        let endpoints = directory.endpoints(&key()).unwrap();
        eventually("the list", async || (endpoints.verdicts().len() == 2).then_some(())).await;
        endpoints.all().iter().map(|endpoint| endpoint.target().authority.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(targets(AddressFamily::Dual).await, ["[::1]:4001", "[2001:db8::1]:4002"]);
    assert_eq!(targets(AddressFamily::Ipv4).await, ["127.0.0.1:4001"]);
}

/// The error of a request that waited for the first list for a short time.
async fn refused(consumer: &Discovery) -> nacos_discovery::NoInstance {
    let settings = ServiceSettings::default().with_first_list_wait(Duration::from_secs(2));
    let directory = consumer.directory_with(BalanceSettings::new(settings));
    let endpoints = directory.endpoints(&key()).expect("a valid name");
    in_time("the end of the wait", endpoints.ready()).await.expect_err("there is no list")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sc08_why_there_is_no_list_is_told_by_the_error() {
    let registry = registry().await;
    registry.fault().answers(AnswerFault::typed(403, "not you").service(SERVICE));
    let error = refused(&provider(&registry)).await;
    assert!(matches!(error.reason, NoInstanceReason::Unknown { .. }), "{error:?}");
    let cause = error.source().and_then(|source| source.downcast_ref::<DiscoveryError>());
    assert!(matches!(cause, Some(DiscoveryError::Refused(_))), "{cause:?}");

    let (listener, nobody) = listen().await;
    drop(listener);
    let settings = nacos_discovery::DiscoveryConfig::builder().server_addr(&nobody.to_string());
    let error = refused(&application(impatient(settings))).await;
    let cause = error.source().and_then(|source| source.downcast_ref::<DiscoveryError>());
    assert!(matches!(cause, Some(DiscoveryError::Unavailable(_))), "{cause:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_the_shutdown_of_the_client_requests_learn_that_discovery_has_ended() {
    let registry = registry().await;
    let nacos = provider_of(&registry);
    let _one = registered(&nacos, Instance::new(("127.0.0.1", 4001))).await;
    let consumer = provider(&registry);
    let endpoints = watched(&consumer);
    until_ports(&endpoints, &[4001]).await;
    consumer.shutdown(Duration::from_secs(5)).await;
    let refusal = eventually("a refusal", async || endpoints.pick(&mut PickContext::new()).err()).await;
    assert_eq!(refusal.reason, NoInstanceReason::Closed);
    let again = consumer.directory().endpoints_named("", "another");
    assert!(matches!(again, Err(DiscoveryError::Start(_))), "{again:?}");
}
