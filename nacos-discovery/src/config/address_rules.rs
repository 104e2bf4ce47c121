use std::net::IpAddr;

/// The kind of address that is registered; `ip-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum IpType {
    /// IPv4 alone.
    V4,
    /// IPv6, or IPv4 if the machine has no IPv6 address that others can reach.
    V6,
}

/// How the address is found that is registered: as set, else as listened on, else of the interface named, else by a scan.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AddressRules {
    /// The address or host name itself; `ip`.
    pub ip: Option<String>,
    /// The kind of address looked for; `ip-type`. Unset: IPv4, with an IPv6 address told in the metadata.
    pub ip_type: Option<IpType>,
    /// The interface whose address is taken; `network-interface`.
    pub network_interface: Option<String>,
    /// What is taken when no interface has a usable address; `spring.cloud.inetutils.default-ip-address`, default 127.0.0.1.
    pub default_ip: IpAddr,
}

impl Default for AddressRules {
    fn default() -> Self {
        Self { ip: None, ip_type: None, network_interface: None, default_ip: IpAddr::from([127, 0, 0, 1]) }
    }
}
