use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::net::{TcpListener, TcpSocket};

/// From the main port to the gRPC port of SDKs, and to that of other servers.
const SDK_OFFSET: u16 = 1000;
const CLUSTER_OFFSET: u16 = 1001;
/// Connections that may wait to be accepted.
const BACKLOG: u32 = 4096;
/// Free triples are looked for below the ports that systems hand out by themselves.
const SEARCH: std::ops::Range<u16> = 10_000..31_000;
const ATTEMPTS: usize = 300;

/// The three ports of a server, bound.
#[derive(Debug)]
pub(crate) struct Ports {
    pub(crate) http: TcpListener,
    pub(crate) grpc: TcpListener,
    pub(crate) cluster: TcpListener,
}

/// A port that could not be had.
#[derive(Debug)]
pub(crate) struct PortError {
    pub(crate) addr: SocketAddr,
    pub(crate) source: io::Error,
}

impl Ports {
    /// Binds `port`, `port` + 1000 and `port` + 1001; port 0 finds three free ones.
    pub(crate) fn bind(ip: IpAddr, port: u16) -> Result<Self, PortError> {
        if port != 0 {
            return Self::bind_exactly(ip, port);
        }
        let mut attempt = 0;
        loop {
            attempt += 1;
            match Self::bind_exactly(ip, fastrand::u16(SEARCH)) {
                Err(error) if attempt < ATTEMPTS && error.source.kind() == io::ErrorKind::AddrInUse => {}
                result => return result,
            }
        }
    }

    fn bind_exactly(ip: IpAddr, port: u16) -> Result<Self, PortError> {
        let offset = |offset| {
            let too_high = || io::Error::new(io::ErrorKind::InvalidInput, "the gRPC ports would be above 65535");
            let source = || PortError { addr: SocketAddr::new(ip, port), source: too_high() };
            port.checked_add(offset).ok_or_else(source)
        };
        Ok(Self {
            http: listen(ip, port)?,
            grpc: listen(ip, offset(SDK_OFFSET)?)?,
            cluster: listen(ip, offset(CLUSTER_OFFSET)?)?,
        })
    }
}

fn listen(ip: IpAddr, port: u16) -> Result<TcpListener, PortError> {
    let addr = SocketAddr::new(ip, port);
    let bound = || {
        let socket = if ip.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // A restarted server must get its port although connections of its predecessor still linger.
        socket.set_reuseaddr(true)?;
        socket.bind(addr)?;
        socket.listen(BACKLOG)
    };
    bound().map_err(|source| PortError { addr, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCAL: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[tokio::test]
    async fn three_ports_are_taken_and_each_is_missed() {
        let ports = Ports::bind(LOCAL, 0).expect("free ports");
        let main = ports.http.local_addr().expect("bound").port();
        assert_eq!(ports.grpc.local_addr().expect("bound").port(), main + 1000);
        assert_eq!(ports.cluster.local_addr().expect("bound").port(), main + 1001);
        let error = Ports::bind(LOCAL, main).expect_err("taken");
        assert_eq!((error.addr.port(), error.source.kind()), (main, io::ErrorKind::AddrInUse));
        drop(ports.http);
        assert_eq!(Ports::bind(LOCAL, main).expect_err("taken").addr.port(), main + 1000);
        drop(ports.grpc);
        assert_eq!(Ports::bind(LOCAL, main).expect_err("taken").addr.port(), main + 1001);
    }

    #[tokio::test]
    async fn ports_that_do_not_exist_are_refused() {
        let error = Ports::bind(LOCAL, 65_000).expect_err("66000 is no port");
        assert_eq!(error.source.kind(), io::ErrorKind::InvalidInput);
    }
}
