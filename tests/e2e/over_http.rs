//! The client over HTTP: registrations that live by beats, and lists that are asked for.
//!
//! Run against our server, and against any that `NACOS_PEER` names by the address of its HTTP port, also one of 1.x that speaks nothing else.

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use nacos_client::{Instance, NamingService, NamingServiceBuilder, Protocol, RegistrationStatus, Select};
use nacos_server_min::{Server, Settings};
use tokio::net::TcpStream;

use crate::support::client::{LONG, connected, connects_and_losses, disconnected, mine, ports, service, told};
use crate::support::operator::ask;
use crate::support::proxy::Proxy;
use crate::support::wait::{eventually, holds_while, in_time, wait_until};
use crate::support::world::unique;

/// Scenarios for both kinds of server.
macro_rules! in_http_worlds {
    ($($scenario:ident),+ $(,)?) => {
        mod ours {
            $(
                #[tokio::test]
                async fn $scenario() { super::$scenario(super::Registry::ours().await).await; }
            )+
        }
        mod peer {
            $(
                #[tokio::test]
                #[ignore = "needs a running server, named by NACOS_PEER"]
                async fn $scenario() { super::$scenario(super::Registry::peer().await).await; }
            )+
        }
    };
}

in_http_worlds!(
    h05_an_instance_lives_by_beats_as_often_as_its_metadata_says,
    l07_a_deregistered_instance_never_comes_back,
    cg15_everything_is_registered_again_when_the_server_was_away,
    cg16_what_was_withdrawn_while_the_server_was_away_stays_away,
    cg19_several_instances_of_a_service_are_told_apart,
    cg50_a_client_that_ends_or_is_dropped_takes_its_instances_along,
    changes_of_others_are_seen,
    a_persistent_instance_outlives_its_client,
);

/// A server, and a relay to its HTTP port that clients connect to.
struct Registry {
    server: Option<Server>,
    http: SocketAddr,
    proxy: Proxy,
}

impl Registry {
    async fn ours() -> Self {
        let server = start().await;
        let http = server.http_addr();
        Self { server: Some(server), http, proxy: Proxy::to(http).await }
    }

    async fn peer() -> Self {
        let named = std::env::var("NACOS_PEER").expect("NACOS_PEER names a server as host:port");
        let http = named.to_socket_addrs().unwrap().next().expect("the peer's name has an address");
        Self { server: None, http, proxy: Proxy::to(http).await }
    }

    fn config(&self) -> NamingServiceBuilder {
        NamingService::builder().servers([self.proxy.address().to_string()]).protocol(Protocol::Http).deadline(LONG)
    }

    async fn client(&self) -> NamingService {
        let nacos = self.config().build().unwrap();
        connected(&nacos).await;
        nacos
    }

    /// Our server dies with everything it knew. A peer is cut off instead.
    async fn goes_down(&mut self) {
        self.proxy.refuse().await;
        self.server = None;
        self.proxy.reset_connections();
    }

    async fn comes_up(&mut self, ours: bool) {
        if ours {
            let server = start().await;
            self.http = server.http_addr();
            self.proxy.retarget(self.http);
            self.server = Some(server);
        }
        self.proxy.accept().await;
    }

    /// The instances that the server lists, by port and health.
    async fn lists(&self, service: &str) -> Vec<(u16, bool)> {
        let target = format!("/nacos/v1/ns/instance/list?serviceName={service}&healthyOnly=false");
        let (status, list) = ask(self.http, "GET", &target).await;
        assert_eq!(status, 200, "{list}");
        let hosts = list["hosts"].as_array().cloned().unwrap_or_default();
        let mut hosts: Vec<(u16, bool)> = hosts
            .iter()
            .map(|host| (u16::try_from(host["port"].as_u64().unwrap()).unwrap(), host["healthy"].as_bool().unwrap()))
            .collect();
        hosts.sort_unstable();
        hosts
    }

    async fn sees(&self, service: &str, ports: &[u16]) {
        let wanted: Vec<(u16, bool)> = ports.iter().map(|port| (*port, true)).collect();
        eventually("the server lists them", async || (self.lists(service).await == wanted).then_some(())).await;
    }
}

async fn start() -> Server {
    let mut settings = Settings::default();
    settings.beat_check_interval = Duration::from_millis(100);
    Server::builder().settings(settings).start().await.expect("free ports are to be had")
}

/// Lives by beats much more frequent than by default.
fn lively(port: u16) -> Instance {
    mine(port)
        .metadata("preserved.heart.beat.interval", "500")
        .metadata("preserved.heart.beat.timeout", "2000")
        .metadata("preserved.ip.delete.timeout", "4000")
}

async fn h05_an_instance_lives_by_beats_as_often_as_its_metadata_says(registry: Registry) {
    let nacos = registry.client().await;
    let orders = unique("orders");
    let registration = service(&nacos, &orders).register(lively(8080).weight(2.5)).unwrap();
    in_time("the acknowledgement", registration.confirmed()).await.unwrap();
    registry.sees(&orders, &[8080]).await;
    // Three times as long as it would live without.
    let beats = wait_until("it has beaten for twelve seconds", || nacos.stats().beats >= 24);
    holds_while("no flap", async || registry.lists(&orders).await == [(8080, true)], beats).await;
    let stats = nacos.stats();
    assert_eq!((stats.beating, stats.beats_failed, stats.beats_restored, stats.connects), (1, 0, 0, 1), "{stats:?}");
}

async fn l07_a_deregistered_instance_never_comes_back(registry: Registry) {
    let nacos = registry.client().await;
    let orders = unique("orders");
    let handle = service(&nacos, &orders);
    let other = handle.register(lively(9000)).unwrap();
    other.confirmed().await.unwrap();
    for _ in 0..5 {
        let registration = handle.register(lively(8080)).unwrap();
        registration.confirmed().await.unwrap();
        let before = nacos.stats().beats;
        wait_until("both have beaten", || nacos.stats().beats >= before + 2).await;
        in_time("the withdrawal", registration.withdraw()).await.unwrap();
        registry.sees(&orders, &[9000]).await;
        let before = nacos.stats().beats;
        let beats = wait_until("the other has beaten", || nacos.stats().beats >= before + 2);
        holds_while("it stays away", async || registry.lists(&orders).await == [(9000, true)], beats).await;
    }
    assert_eq!(nacos.stats().beating, 1);
}

async fn cg15_everything_is_registered_again_when_the_server_was_away(mut registry: Registry) {
    let ours = registry.server.is_some();
    let nacos = registry.client().await;
    let names: Vec<String> = (0..50).map(|_| unique("orders")).collect();
    let registrations: Vec<_> =
        names.iter().map(|name| service(&nacos, name).register(mine(8080).metadata("k", "v")).unwrap()).collect();
    for registration in &registrations {
        registration.confirmed().await.unwrap();
    }
    registry.goes_down().await;
    disconnected(&nacos).await;
    assert_eq!((registrations[0].status(), nacos.stats().beating), (RegistrationStatus::Pending, 0));
    registry.comes_up(ours).await;
    for registration in &registrations {
        in_time("the acknowledgement", registration.confirmed()).await.unwrap();
    }
    for name in &names {
        registry.sees(name, &[8080]).await;
    }
    assert_eq!((connects_and_losses(&nacos), nacos.stats().beating), ((2, 1), 50));
}

async fn cg16_what_was_withdrawn_while_the_server_was_away_stays_away(mut registry: Registry) {
    let ours = registry.server.is_some();
    let nacos = registry.client().await;
    let orders = unique("orders");
    let handle = service(&nacos, &orders);
    let (gone, stays) = (handle.register(lively(1)).unwrap(), handle.register(lively(2)).unwrap());
    gone.confirmed().await.unwrap();
    stays.confirmed().await.unwrap();
    registry.goes_down().await;
    disconnected(&nacos).await;
    drop(gone);
    registry.comes_up(ours).await;
    in_time("the acknowledgement", stays.confirmed()).await.unwrap();
    // A server that knew it lets it expire, as nothing beats for it any more.
    registry.sees(&orders, &[2]).await;
}

async fn cg19_several_instances_of_a_service_are_told_apart(registry: Registry) {
    let nacos = registry.client().await;
    let orders = unique("orders");
    let handle = service(&nacos, &orders);
    let mut registrations: Vec<_> = (1..=20).map(|port| handle.register(mine(port)).unwrap()).collect();
    for registration in &registrations {
        registration.confirmed().await.unwrap();
    }
    registry.sees(&orders, &(1..=20).collect::<Vec<_>>()).await;
    registrations.remove(4).withdraw().await.unwrap();
    registrations[0].update(|instance| instance.weight(7.0)).unwrap();
    registrations[0].confirmed().await.unwrap();
    registry.sees(&orders, &(1..=20).filter(|port| *port != 5).collect::<Vec<_>>()).await;
    let list = eventually("the new weight", async || {
        let snapshot = handle.refresh().await.unwrap().snapshot().clone();
        let weight = snapshot.instances().iter().find(|instance| instance.port == 1).map(|instance| instance.weight);
        (weight == Some(7.0)).then_some(snapshot)
    });
    assert_eq!(list.await.instances().len(), 19);
}

async fn cg50_a_client_that_ends_or_is_dropped_takes_its_instances_along(registry: Registry) {
    for ends in [true, false] {
        let nacos = registry.client().await;
        let orders = unique("orders");
        let registration = service(&nacos, &orders).register(mine(8080)).unwrap();
        registration.confirmed().await.unwrap();
        registry.sees(&orders, &[8080]).await;
        if ends {
            let report = nacos.shutdown(LONG).await;
            assert_eq!((report.deregistered, report.unacknowledged, report.clean), (1, 0, true));
        } else {
            registration.keep();
            drop(nacos);
        }
        registry.sees(&orders, &[]).await;
    }
}

async fn changes_of_others_are_seen(registry: Registry) {
    let (provider, consumer) = (registry.client().await, registry.client().await);
    let orders = unique("orders");
    let mut changes = service(&consumer, &orders).subscribe(Select::all());
    told(&mut changes, "nothing yet", |list| list.instances().is_empty()).await;
    let first = service(&provider, &orders).register(mine(1)).unwrap();
    told(&mut changes, "the first one", |list| ports(list) == [1]).await;
    let _second = service(&provider, &orders).register(mine(2)).unwrap();
    told(&mut changes, "both", |list| ports(list) == [1, 2]).await;
    first.withdraw().await.unwrap();
    told(&mut changes, "one has left", |list| ports(list) == [2]).await;
    let names = consumer.services_page("DEFAULT_GROUP", 1, 1_000).await.unwrap().names;
    assert!(names.contains(&orders));
}

async fn a_persistent_instance_outlives_its_client(registry: Registry) {
    let grpc = SocketAddr::new(registry.http.ip(), registry.http.port() + 1000);
    if registry.server.is_none() && TcpStream::connect(grpc).await.is_ok() {
        // The assembly of 2.x that is run as a peer cannot write persistent instances over HTTP.
        return;
    }
    let nacos = registry.client().await;
    let orders = unique("orders");
    let registration = service(&nacos, &orders).register(Instance::new(("127.0.0.2", 8080)).persistent()).unwrap();
    in_time("the acknowledgement", registration.confirmed()).await.unwrap();
    assert_eq!(nacos.stats().beating, 0);
    registration.keep();
    assert!(nacos.shutdown(LONG).await.clean);
    assert_eq!(registry.lists(&orders).await.iter().map(|(port, _)| *port).collect::<Vec<_>>(), [8080]);
    let nacos = registry.client().await;
    assert!(
        nacos.deregister_instance(orders.as_str(), &Instance::new(("127.0.0.2", 8080)).persistent()).await.unwrap()
    );
    registry.sees(&orders, &[]).await;
}
