//! The crate `nacos-sdk`, set up as its documentation shows, without what would disturb a measurement.

use std::net::SocketAddr;

use nacos_sdk::api::naming::{NamingService, NamingServiceBuilder, ServiceInstance};
use nacos_sdk::api::props::ClientProps;
use tempfile::TempDir;

use super::Failure;

pub(crate) const NAME: &str = "nacos-sdk 0.8.3";
pub(crate) const GROUP: &str = "DEFAULT_GROUP";

/// A connected client with a cache folder of its own.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) naming: NamingService,
    _cache: TempDir,
}

impl Peer {
    /// Connects to the server whose main port is `server`.
    pub(crate) async fn connect(server: SocketAddr) -> Result<Self, Failure> {
        let cache = TempDir::new()?;
        let props = ClientProps::new()
            .server_addr(server.to_string())
            .namespace("")
            .app_name("benches")
            .env_first(false)
            .cache_dir(cache.path());
        Ok(Self { naming: NamingServiceBuilder::new(props).build().await?, _cache: cache })
    }

    pub(crate) async fn register(&self, service: String, instance: ServiceInstance) -> Result<(), Failure> {
        Ok(self.naming.register_instance(service, Some(GROUP.to_owned()), instance).await?)
    }
}

/// An instance on 127.0.0.1.
pub(crate) fn instance(port: i32) -> ServiceInstance {
    ServiceInstance { ip: "127.0.0.1".to_owned(), port, ..ServiceInstance::default() }
}
