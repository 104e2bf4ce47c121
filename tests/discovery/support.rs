//! What the tests share: a registry, an application's settings, and an operator.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use nacos_client::{NamingService, Protocol};
use nacos_discovery::{
    Discovery, DiscoveryConfig, DiscoveryConfigBuilder, Registered, RegistrationState, ShutdownLimits, ShutdownPlan,
    Traffic,
};
use nacos_server_min::Server;
use nacos_tests::http::{self, Call};
use nacos_tests::wait::{eventually, in_time};
use serde_json::Value;
use tokio::net::TcpListener;

/// The service that is registered.
pub(crate) const SERVICE: &str = "orders";
/// A free port of this machine.
pub(crate) const FREE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A server that tests can call by HTTP.
pub(crate) trait Registry {
    /// Its entry in the settings of a client.
    fn entry(&self) -> String;

    /// Its HTTP port.
    fn http(&self) -> SocketAddr;

    /// What is spoken with it.
    fn protocol(&self) -> Protocol {
        Protocol::Grpc
    }

    /// Whether it keeps what an operator set apart from what was registered, as servers since 2.0 do.
    fn keeps_overrides(&self) -> bool {
        true
    }
}

impl Registry for Server {
    fn entry(&self) -> String {
        self.server_addr()
    }

    fn http(&self) -> SocketAddr {
        self.http_addr()
    }
}

/// The server that `NACOS_PEER` names, as address and port.
pub(crate) struct Peer(SocketAddr);

impl Peer {
    pub(crate) fn of_environment() -> Self {
        let named = std::env::var("NACOS_PEER").expect("NACOS_PEER names a server");
        Self(named.parse().expect("NACOS_PEER is an address and a port"))
    }
}

impl Registry for Peer {
    fn entry(&self) -> String {
        self.0.to_string()
    }

    fn http(&self) -> SocketAddr {
        self.0
    }

    fn protocol(&self) -> Protocol {
        Protocol::Http
    }

    // The real 2.x at hand keeps none at all, so this is 1.x.
    fn keeps_overrides(&self) -> bool {
        false
    }
}

pub(crate) async fn registry() -> Server {
    Server::builder().start().await.expect("free ports are to be had")
}

/// The settings of an application that registers [`SERVICE`].
pub(crate) fn settings(registry: &impl Registry) -> DiscoveryConfigBuilder {
    DiscoveryConfig::builder().server_addr(&registry.entry()).service(SERVICE)
}

pub(crate) fn application(settings: DiscoveryConfigBuilder) -> Discovery {
    Discovery::new(settings.build().expect("valid settings")).expect("valid settings")
}

/// The same, speaking a chosen protocol.
pub(crate) fn over(protocol: Protocol, registry: &impl Registry, settings: DiscoveryConfigBuilder) -> Discovery {
    let nacos = NamingService::builder().servers([registry.entry()]).protocol(protocol);
    Discovery::with_client(settings.build().expect("valid settings"), nacos.build().expect("valid settings"))
}

/// An application that registers [`SERVICE`] there.
pub(crate) fn provider(registry: &impl Registry) -> Discovery {
    application(settings(registry))
}

/// A listener on a free port.
pub(crate) async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(FREE).await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    (listener, address)
}

/// The same settings with a deadline that may pass in a test.
pub(crate) fn impatient(settings: DiscoveryConfigBuilder) -> DiscoveryConfigBuilder {
    settings.property("spring.cloud.nacos.discovery.naming-request-timeout", "500")
}

/// A shutdown in which nothing waits for long.
pub(crate) fn quick(plan: ShutdownPlan) -> ShutdownPlan {
    plan.limits(short()).traffic(Traffic::new())
}

/// The limits of such a shutdown.
pub(crate) fn short() -> ShutdownLimits {
    let mut limits = ShutdownLimits::default();
    limits.quiet = Duration::from_millis(50);
    limits
}

/// Calls the registry's HTTP port; what is no JSON is a text.
pub(crate) async fn operate(registry: &impl Registry, method: &str, target: &str) -> Value {
    let (status, body) = fetch(registry.http(), method, &format!("/nacos/v1/ns{target}")).await;
    assert_eq!(status, 200, "{method} {target}: {body}");
    body
}

/// Calls any HTTP port; what is no JSON is a text.
pub(crate) async fn fetch(server: SocketAddr, method: &str, target: &str) -> (u16, Value) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let reply = in_time(target, http::call(server, Call { method, path, query, form: None })).await.expect(target);
    (reply.status, serde_json::from_str(&reply.body).unwrap_or(Value::String(reply.body)))
}

/// What the registry tells consumers of a service.
pub(crate) async fn listed(registry: &impl Registry, service: &str) -> Vec<Value> {
    let answer = operate(registry, "GET", &format!("/instance/list?serviceName={service}")).await;
    answer["hosts"].as_array().cloned().unwrap_or_default()
}

/// Waits until the registry lists this many instances of a service.
pub(crate) async fn until_listed(registry: &impl Registry, service: &str, count: usize) -> Vec<Value> {
    eventually(&format!("{count} instances of {service}"), async || {
        Some(listed(registry, service).await).filter(|hosts| hosts.len() == count)
    })
    .await
}

/// Waits until a registration is in such a state.
pub(crate) async fn until_state(registered: &Registered, is: impl Fn(&RegistrationState) -> bool) -> RegistrationState {
    let mut watch = registered.watch();
    in_time("a state", async {
        let mut state = watch.current();
        while !is(&state) {
            state = watch.changed().await.expect("it changes");
        }
        state
    })
    .await
}
