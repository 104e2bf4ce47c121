use std::net::{IpAddr, SocketAddr};

/// Where the application listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listen {
    /// `server.address`; default all of IPv4, `0.0.0.0`.
    pub address: IpAddr,
    /// `server.port`; default 8080, 0 = a free one.
    pub port: u16,
}

impl Listen {
    /// Both, to bind to.
    #[must_use]
    pub const fn socket_addr(&self) -> SocketAddr {
        SocketAddr::new(self.address, self.port)
    }
}

impl Default for Listen {
    fn default() -> Self {
        Self { address: IpAddr::from([0, 0, 0, 0]), port: 8080 }
    }
}
