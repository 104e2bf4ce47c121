use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use nacos_client::{Instance, NamingService, Registration};

use crate::{Error, HttpService};

const FREE_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// One process's worth of provider: an HTTP service, and a client of its own that registers it.
#[derive(Debug)]
pub struct Provider {
    http: HttpService,
    nacos: NamingService,
    registration: Registration,
}

impl Provider {
    /// Serves on a free port, and is registered with what `describe` adds to its instance.
    ///
    /// # Errors
    ///
    /// If there is no port, or the registry does not confirm.
    pub async fn start(
        registry: &str,
        service: &str,
        describe: impl FnOnce(Instance) -> Instance,
    ) -> Result<Self, Error> {
        let http = HttpService::start(FREE_PORT).await?;
        let nacos = NamingService::builder().servers([registry]).build()?;
        let registration = nacos.service(service)?.register(describe(Instance::new(http.addr())))?;
        registration.confirmed().await?;
        Ok(Self { http, nacos, registration })
    }

    /// What it serves with.
    pub const fn http(&self) -> &HttpService {
        &self.http
    }

    /// Where it listens, as it answers and as it is listed.
    pub fn address(&self) -> String {
        self.http.addr().to_string()
    }

    /// First out of the registry, then out of service: nobody is sent to a closed door.
    ///
    /// # Errors
    ///
    /// If the registry does not confirm, or serving failed.
    pub async fn stop(self) -> Result<(), Error> {
        self.registration.withdraw().await?;
        self.nacos.shutdown(Duration::from_secs(5)).await;
        self.http.stop().await?;
        Ok(())
    }
}
