use std::net::SocketAddr;

use crate::{Registered, ShutdownReport};

/// An application that is served and registered. Dropping it deregisters and cuts off what is under way.
#[derive(Debug)]
#[must_use = "dropping it ends the application at once"]
pub struct Serving {
    address: SocketAddr,
    registered: Registered,
}

impl Serving {
    pub(super) const fn new(address: SocketAddr, registered: Registered) -> Self {
        Self { address, registered }
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The registration.
    pub const fn registered(&self) -> &Registered {
        &self.registered
    }

    /// Leaves; see [`Registered::shutdown`].
    ///
    /// # Cancel safety
    /// As [`Registered::shutdown`].
    pub async fn shutdown(&self) -> ShutdownReport {
        self.registered.shutdown().await
    }
}
