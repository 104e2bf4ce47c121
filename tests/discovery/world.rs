//! An application behind the registry, for tests of calls.

use std::net::SocketAddr;

use axum::Router;
use nacos_discovery::adapters::reqwest::ReqwestBalanced;
use nacos_discovery::{Discovery, Registered};
use nacos_server_min::Server;
use nacos_tests::wait::eventually;
use tokio::task::AbortHandle;

use crate::support::*;

/// An application that serves a service, is registered, and calls itself.
pub(crate) struct World {
    pub(crate) address: SocketAddr,
    pub(crate) discovery: Discovery,
    pub(crate) serving: AbortHandle,
    pub(crate) registered: Registered,
    _registry: Server,
}

impl World {
    /// `service` is provided by `app`.
    pub(crate) async fn of(service: &str, app: Router) -> Self {
        let registry = registry().await;
        let (listener, address) = listen().await;
        let serving = tokio::spawn(async move { axum::serve(listener, app).await }).abort_handle();
        let discovery = application(settings(&registry).service(service));
        let registered = discovery.registrar().register(address).await.expect("the registry is there");
        let world = Self { address, discovery, serving, registered, _registry: registry };
        let endpoints = world.discovery.directory().endpoints(&world.discovery.service_key(service)).expect("a name");
        eventually("the instance", async || (!endpoints.all().is_empty()).then_some(())).await;
        world
    }

    pub(crate) fn web(&self) -> ReqwestBalanced {
        self.discovery.reqwest(reqwest::Client::new())
    }

    /// Calls of the one instance that have not ended.
    pub(crate) fn in_flight(&self, service: &str) -> u32 {
        let key = self.discovery.service_key(service);
        let endpoints = self.discovery.directory().endpoints(&key).expect("a name");
        endpoints.all().iter().map(|endpoint| endpoint.in_flight()).sum()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
