//! Which protocol a client speaks if it may choose, and pushes by UDP.

use std::net::SocketAddr;

use nacos_client::{ConnectionStatus, EmptyPolicy, NamingService, NamingServiceBuilder, Protocol, Select};
use nacos_server_min::{Server, Settings};

use crate::support::client::{LONG, connected, mine, ports, service, status_that, told};
use crate::support::operator::ask;
use crate::support::proxy::Proxy;
use crate::support::wait::{eventually, wait_until};
use crate::support::world::unique;

async fn start() -> Server {
    Server::builder().settings(Settings::default()).start().await.expect("a server on free ports")
}

/// A client that may choose: it reaches HTTP at `http` and gRPC by way of `grpc`.
fn choosing(http: SocketAddr, grpc: &Proxy) -> NamingServiceBuilder {
    let config = NamingService::builder().servers([grpc.entry(http.port())]);
    config.empty_policy(EmptyPolicy::Accept).deadline(LONG)
}

async fn speaks(nacos: &NamingService, wanted: Protocol) {
    let speaks = |status: &ConnectionStatus| matches!(status, ConnectionStatus::Connected { protocol, .. } if *protocol == wanted);
    status_that(nacos, "the protocol", speaks).await;
}

/// The instances that a server lists, as somebody else sees them.
async fn listed(http: SocketAddr, name: &str) -> Vec<u64> {
    let (_, list) = ask(http, "GET", &format!("/nacos/v1/ns/instance/list?serviceName={name}")).await;
    let hosts = list["hosts"].as_array().cloned().unwrap_or_default();
    hosts.iter().filter_map(|host| host["port"].as_u64()).collect()
}

#[tokio::test]
async fn g25_a_server_that_has_grpc_is_spoken_to_over_grpc() {
    let server = start().await;
    let grpc = Proxy::to(server.grpc_addr()).await;
    let nacos = choosing(server.http_addr(), &grpc).build().unwrap();
    connected(&nacos).await;
    speaks(&nacos, Protocol::Grpc).await;
}

#[tokio::test]
async fn g25_where_grpc_is_refused_reset_or_silent_http_is_spoken_and_everything_works() {
    let server = start().await;
    let http = server.http_addr();
    let closed = Proxy::closed().await;
    let slamming = Proxy::closed().await;
    slamming.slam().await;
    let silent = Proxy::closed().await;
    silent.be_silent().await;
    // Something else listens there, such as the HTTP port itself.
    let other = Proxy::to(http).await;
    for grpc in [closed, slamming, silent, other] {
        let nacos = choosing(http, &grpc).build().unwrap();
        connected(&nacos).await;
        speaks(&nacos, Protocol::Http).await;
        let name = unique("orders");
        let registration = service(&nacos, &name).register(mine(8080)).unwrap();
        registration.confirmed().await.unwrap();
        let mut changes = service(&nacos, &name).subscribe(Select::all());
        told(&mut changes, "its own instance", |list| ports(list) == [8080]).await;
        assert!(nacos.shutdown(LONG).await.clean);
        assert!(listed(http, &name).await.is_empty());
    }
}

#[tokio::test]
async fn g25_a_client_that_loses_grpc_for_good_goes_on_over_http() {
    let server = start().await;
    let http = server.http_addr();
    let grpc = Proxy::to(server.grpc_addr()).await;
    let nacos = choosing(http, &grpc).build().unwrap();
    let (name, other) = (unique("orders"), unique("other"));
    let registration = service(&nacos, &name).register(mine(8080)).unwrap();
    registration.confirmed().await.unwrap();
    let mut changes = service(&nacos, &other).subscribe(Select::all());
    told(&mut changes, "nobody yet", |list| list.instances().is_empty()).await;
    speaks(&nacos, Protocol::Grpc).await;
    grpc.refuse().await;
    grpc.reset_connections();
    speaks(&nacos, Protocol::Http).await;
    eventually("registered again", async || (listed(http, &name).await == [8080]).then_some(())).await;
    ask(http, "POST", &format!("/nacos/v1/ns/instance?serviceName={other}&ip=127.0.0.1&port=9")).await;
    told(&mut changes, "the other one", |list| ports(list) == [9]).await;
}

#[tokio::test]
async fn one_process_speaks_http_with_one_registry_and_grpc_with_another() {
    let (old, new) = (start().await, start().await);
    let (no_grpc, grpc) = (Proxy::closed().await, Proxy::to(new.grpc_addr()).await);
    let name = unique("orders");
    let clients = [(&old, &no_grpc, Protocol::Http), (&new, &grpc, Protocol::Grpc)].map(|(server, grpc, protocol)| {
        (choosing(server.http_addr(), grpc).build().unwrap(), server.http_addr(), protocol)
    });
    for (port, (nacos, http, protocol)) in (1..).zip(&clients) {
        service(nacos, &name).register(mine(port)).unwrap().keep();
        speaks(nacos, *protocol).await;
        eventually("registered", async || (listed(*http, &name).await == [u64::from(port)]).then_some(())).await;
    }
}

#[tokio::test]
async fn h08_changes_come_by_udp_long_before_the_next_poll() {
    let server = start().await;
    let http = server.http_addr();
    let config = NamingService::builder().servers([http.to_string()]).protocol(Protocol::Http);
    let nacos = config.empty_policy(EmptyPolicy::Accept).build().unwrap();
    let name = unique("orders");
    let mut changes = service(&nacos, &name).subscribe(Select::all());
    told(&mut changes, "nobody yet", |list| list.instances().is_empty()).await;
    for port in 1..=5u16 {
        ask(http, "POST", &format!("/nacos/v1/ns/instance?serviceName={name}&ip=127.0.0.1&port={port}")).await;
        told(&mut changes, "one more", |list| list.instances().len() == usize::from(port)).await;
    }
    wait_until("pushed", || nacos.stats().pushes >= 5).await;
    let stats = nacos.stats();
    // The first one of a server leads to a query; those that come after it are believed.
    assert!(stats.pushes_applied >= 1, "{stats:?}");
    assert_eq!((stats.pushes_foreign, stats.unreadable, stats.push_sockets_lost), (0, 0, 0), "{stats:?}");
}
