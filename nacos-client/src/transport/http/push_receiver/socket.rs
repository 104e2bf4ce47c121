//! The socket below the receiver, and the place where tests put something else.

use std::{io, net::SocketAddr};

use futures_util::future::BoxFuture;
use tokio::net::UdpSocket;

/// Makes sockets.
pub(in crate::transport::http) trait Bind: Send + Sync + 'static {
    /// A socket that listens at `address`. Called inside the runtime.
    fn bind(&self, address: SocketAddr) -> io::Result<Box<dyn Datagrams>>;
}

/// One socket.
pub(in crate::transport::http) trait Datagrams: Send + Sync + 'static {
    /// The port it listens at.
    fn port(&self) -> io::Result<u16>;

    /// Waits for a packet and puts it at the beginning of `buffer`. Dropping the future loses nothing.
    fn receive<'a>(&'a self, buffer: &'a mut [u8]) -> BoxFuture<'a, io::Result<(usize, SocketAddr)>>;

    /// Sends a packet.
    fn send<'a>(&'a self, packet: &'a [u8], to: SocketAddr) -> BoxFuture<'a, io::Result<usize>>;
}

/// The sockets of the operating system.
#[derive(Debug, Clone, Copy)]
pub(in crate::transport::http) struct UdpSockets;

impl Bind for UdpSockets {
    fn bind(&self, address: SocketAddr) -> io::Result<Box<dyn Datagrams>> {
        let socket = std::net::UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        Ok(Box::new(UdpSocket::from_std(socket)?))
    }
}

impl Datagrams for UdpSocket {
    fn port(&self) -> io::Result<u16> {
        Ok(self.local_addr()?.port())
    }

    fn receive<'a>(&'a self, buffer: &'a mut [u8]) -> BoxFuture<'a, io::Result<(usize, SocketAddr)>> {
        Box::pin(self.recv_from(buffer))
    }

    fn send<'a>(&'a self, packet: &'a [u8], to: SocketAddr) -> BoxFuture<'a, io::Result<usize>> {
        Box::pin(self.send_to(packet, to))
    }
}
