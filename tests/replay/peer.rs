//! The server at the other end.

use std::net::SocketAddr;

use crate::script::Mode;

#[derive(Debug)]
pub(crate) struct Peer {
    address: SocketAddr,
}

impl Peer {
    pub(crate) async fn start(_mode: Mode) -> Self {
        Self { address: "127.0.0.1:1".parse().unwrap() }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) async fn reset(&self, _connection: &str, _target: Option<&str>) {}

    pub(crate) async fn stop(self) {}
}
