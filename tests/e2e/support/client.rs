//! Clients under test.

use nacos_client::{NamingService, NamingServiceBuilder};

use super::world::Registry;

impl Registry {
    /// Settings of a client of this server.
    pub(crate) fn config(&self) -> NamingServiceBuilder {
        NamingService::builder().servers([self.entry()])
    }

    /// A client of this server with default settings.
    pub(crate) fn client(&self) -> NamingService {
        self.config().build().expect("the settings are valid")
    }
}
