use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use nacos_client::InstanceAddr;
use tokio::net::{UdpSocket, lookup_host};
use tokio::time::timeout;

const DEFAULT_PORT: u16 = 8848;

/// The own addresses by which this machine reaches the first server that it has a route to. Nothing is sent.
pub(super) async fn towards(servers: &str, limit: Duration) -> Vec<IpAddr> {
    let find = async {
        for server in servers.split([',', ';']) {
            let addresses = own_addresses(&authority(server)).await;
            if !addresses.is_empty() {
                return addresses;
            }
        }
        Vec::new()
    };
    timeout(limit, find).await.unwrap_or_default()
}

async fn own_addresses(server: &InstanceAddr) -> Vec<IpAddr> {
    let Ok(remotes) = lookup_host((server.host(), server.port())).await else { return Vec::new() };
    let mut own = Vec::new();
    for remote in remotes {
        own.extend(own_address(remote).await);
    }
    own
}

/// A connected UDP socket has an own address, chosen by the routes.
async fn own_address(remote: SocketAddr) -> Option<IpAddr> {
    let any = if remote.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    let socket = UdpSocket::bind((any, 0)).await.ok()?;
    socket.connect(remote).await.ok()?;
    socket.local_addr().ok().map(|own| own.ip())
}

/// Host and port of a server's entry.
fn authority(entry: &str) -> InstanceAddr {
    let entry = entry.trim();
    let bare = entry.split_once("://").map_or(entry, |(_, rest)| rest);
    let end = bare.find(['/', '?']).unwrap_or(bare.len());
    let bare = &bare[..end];
    bare.parse().unwrap_or_else(|_| InstanceAddr::new(bare, DEFAULT_PORT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_servers_have_many_forms() {
        for (entry, address) in [
            ("host", "host:8848"),
            (" host:1 ", "host:1"),
            ("http://host:1/nacos", "host:1"),
            ("host?grpc_port=2", "host:8848"),
            ("[::1]:1", "[::1]:1"),
            ("::1", "[::1]:8848"),
            ("[::1]", "[::1]:8848"),
        ] {
            assert_eq!(authority(entry).to_string(), address, "{entry}");
        }
    }

    #[tokio::test]
    async fn the_route_to_this_machine_is_loopback_and_that_to_nowhere_none() {
        let limit = Duration::from_secs(5);
        assert_eq!(towards("127.0.0.1:8848", limit).await, [IpAddr::from([127, 0, 0, 1])]);
        assert_eq!(towards("no host,127.0.0.1", limit).await, [IpAddr::from([127, 0, 0, 1])]);
        assert_eq!(towards("", limit).await, [] as [IpAddr; 0]);
    }
}
