use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use crate::config::Probes;
use crate::registry::{ClusterMetadata, Host, Instance};

/// Where an instance is asked; `None` if it is not to be asked there.
pub(super) fn target(instance: &Instance, cluster: &ClusterMetadata, probes: Probes) -> Option<SocketAddr> {
    let port = if cluster.use_instance_port { instance.port } else { u16::try_from(cluster.check_port).ok()? };
    let ip = match &instance.host {
        Host::V4(v4) => IpAddr::V4(*v4),
        Host::V6(v6) => IpAddr::V6(*v6),
        Host::Text(text) => text.trim_matches(['[', ']']).parse().ok()?,
        Host::Absent => return None,
    };
    let ip = ip.to_canonical();
    (port != 0 && may_be_asked(ip, probes)).then_some(SocketAddr::new(ip, port))
}

fn may_be_asked(ip: IpAddr, probes: Probes) -> bool {
    let one_host = !ip.is_unspecified() && !ip.is_multicast();
    match probes {
        Probes::Off => false,
        Probes::Remote => one_host && !is_near(ip),
        Probes::Everywhere => one_host,
    }
}

/// This machine, or the link it is on, where services live that trust whoever reaches them.
fn is_near(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_link_local() || v4.is_broadcast(),
        IpAddr::V6(v6) => v6 == Ipv6Addr::LOCALHOST || v6.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::InstanceId;

    fn at(host: &str, port: u16, cluster: &ClusterMetadata, probes: Probes) -> Option<String> {
        let instance = Instance {
            host: Host::new(Some(host)),
            cluster: "c".into(),
            weight: 1.0,
            id: InstanceId::Derived,
            metadata: Box::default(),
            port,
            healthy: true,
            enabled: true,
        };
        target(&instance, cluster, probes).map(|target| target.to_string())
    }

    #[test]
    fn k06_addresses_near_the_server_are_not_asked_unless_wanted() {
        let cluster = ClusterMetadata::default();
        for near in ["127.0.0.1", "127.9.9.9", "169.254.169.254", "::1", "fe80::1", "::ffff:127.0.0.1", "[::1]"] {
            assert_eq!(at(near, 80, &cluster, Probes::Remote), None, "{near}");
            assert!(at(near, 80, &cluster, Probes::Everywhere).is_some(), "{near}");
        }
        for nowhere in ["0.0.0.0", "::", "224.0.0.1", "ff02::1", "localhost", "example.org", ""] {
            assert_eq!(at(nowhere, 80, &cluster, Probes::Everywhere), None, "{nowhere}");
        }
        assert_eq!(at("10.0.0.1", 80, &cluster, Probes::Remote).as_deref(), Some("10.0.0.1:80"));
        assert_eq!(at("10.0.0.1", 80, &cluster, Probes::Off), None);
    }

    #[test]
    fn the_port_is_the_instances_or_the_clusters() {
        let own = ClusterMetadata { check_port: 99, ..ClusterMetadata::default() };
        assert_eq!(at("10.0.0.1", 80, &own, Probes::Remote).as_deref(), Some("10.0.0.1:80"));
        let other = ClusterMetadata { use_instance_port: false, ..own.clone() };
        assert_eq!(at("10.0.0.1", 80, &other, Probes::Remote).as_deref(), Some("10.0.0.1:99"));
        let impossible = ClusterMetadata { check_port: 70_000, ..other };
        assert_eq!(at("10.0.0.1", 80, &impossible, Probes::Remote), None);
        assert_eq!(at("10.0.0.1", 0, &own, Probes::Remote), None);
    }
}
