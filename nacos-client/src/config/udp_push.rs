use std::net::IpAddr;

/// How a client that speaks HTTP is told of changes between two polls: by UDP packets of the servers.
///
/// Servers of the 1.x line and 2.x push to `client_ip:port`; a packet that is lost costs the time until the next poll,
/// at most 10 s, never correctness. Over gRPC none of this is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct UdpPush {
    /// Whether to listen for packets; default true. If not, lists are as new as the last poll (of a 1.x server, 3 s).
    pub enabled: bool,
    /// The port to listen on; default 0, any free one. Two clients cannot share a port.
    pub port: u16,
    /// The address that servers are told to push to; default `None`, the client's own address on its way to the server.
    /// To be set where that is not the one by which servers reach the client: behind NAT or a port mapping.
    pub client_ip: Option<IpAddr>,
    /// Whose packets are believed.
    pub senders: PushSenders,
}

impl UdpPush {
    /// The defaults.
    pub const DEFAULT: Self = Self { enabled: true, port: 0, client_ip: None, senders: PushSenders::Servers };
}

impl Default for UdpPush {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Whose UDP packets are believed. Packets of others are counted and dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum PushSenders {
    /// The addresses that the configured servers were reached at.
    #[default]
    Servers,
    /// Everybody: needed where servers stand behind a load balancer, as they push from their own addresses. Anybody who
    /// can send packets to the client can then change what it takes for the instances of a service.
    Anyone,
}
