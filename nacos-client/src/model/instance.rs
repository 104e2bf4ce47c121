//! One instance of a service.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use super::address::write_host_port;
use super::{AddressError, InstanceAddr, Weight};

/// The cluster of an instance that names none.
pub const DEFAULT_CLUSTER: &str = "DEFAULT";

/// One instance of a service, as it is registered or as the registry lists it.
///
/// Fields are read directly and set with the methods of the same name, which take and return the instance.
///
/// Two instances are equal if everything a listener may care about is: address, cluster, weight, healthy, enabled,
/// ephemeral, metadata. The id that the server makes up is not part of that.
///
/// # Examples
///
/// ```
/// use nacos_client::Instance;
///
/// let addr: std::net::SocketAddr = "10.0.0.9:8080".parse()?;
/// let instance = Instance::new(addr).weight(2.0).cluster("c1").metadata("version", "v2");
/// assert_eq!((instance.port, instance.weight), (8080, 2.0));
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Instance {
    /// IP address, IPv6 without brackets, or host name.
    pub ip: String,
    /// Port, 1 to 65535 in a registration; servers also list instances with port 0.
    pub port: u16,
    /// Share of the traffic relative to the others; default 1, 0 = none. A received one can be any number, see [`Weight::usable`].
    pub weight: f64,
    /// Whether the registry takes it for healthy; default true.
    pub healthy: bool,
    /// Whether it takes traffic at all; default true. Servers do not list disabled instances.
    pub enabled: bool,
    /// Whether it lives only as long as the registering client's connection; default true.
    pub ephemeral: bool,
    /// Cluster, default [`DEFAULT_CLUSTER`].
    pub cluster: String,
    /// Free key-value pairs; the registry limits the sum of all lengths (1024 by default).
    pub metadata: BTreeMap<String, String>,
    /// The id the server gave it; `None` in a registration that does not ask for one.
    pub instance_id: Option<String>,
}

impl Instance {
    /// An ephemeral, healthy, enabled instance of weight 1 in the default cluster.
    #[must_use]
    pub fn new(addr: impl Into<InstanceAddr>) -> Self {
        let (ip, port) = addr.into().into_parts();
        Self {
            ip,
            port,
            weight: 1.0,
            healthy: true,
            enabled: true,
            ephemeral: true,
            cluster: DEFAULT_CLUSTER.to_owned(),
            metadata: BTreeMap::new(),
            instance_id: None,
        }
    }

    /// Like [`Instance::new`], from `host:port` text; IPv6 is written `[address]:port`.
    ///
    /// # Errors
    /// If the text is not an address with a port from 0 to 65535.
    pub fn parse(addr: &str) -> Result<Self, AddressError> {
        addr.parse::<InstanceAddr>().map(Self::new)
    }

    /// Sets the weight; a registration takes 0 to 10000.
    #[must_use]
    pub fn weight(mut self, weight: f64) -> Self {
        self.weight = weight;
        self
    }

    /// Sets the health that is published.
    #[must_use]
    pub fn healthy(mut self, healthy: bool) -> Self {
        self.healthy = healthy;
        self
    }

    /// Sets whether it takes traffic.
    #[must_use]
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.enabled = enabled;
        self
    }

    /// Makes it persistent: the registry keeps it until somebody deregisters it.
    #[must_use]
    pub fn persistent(mut self) -> Self {
        self.ephemeral = false;
        self
    }

    /// Sets the cluster; blank means [`DEFAULT_CLUSTER`].
    #[must_use]
    pub fn cluster(mut self, cluster: impl Into<String>) -> Self {
        let cluster = cluster.into();
        self.cluster = if cluster.trim().is_empty() { DEFAULT_CLUSTER.to_owned() } else { cluster };
        self
    }

    /// Adds one metadata entry, replacing one of the same key.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// What identifies it within its service.
    #[must_use]
    pub fn key(&self) -> InstanceKey {
        InstanceKey { ip: self.ip.clone(), port: self.port, cluster: self.cluster.clone() }
    }

    /// `ip:port`, with brackets around IPv6: what goes into a URI.
    #[must_use]
    pub fn addr(&self) -> String {
        self.to_string()
    }

    /// Its socket address; `None` if it registered a host name.
    #[must_use]
    pub fn socket_addr(&self) -> Option<SocketAddr> {
        self.ip.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, self.port))
    }

    /// Whether a draw may return it: healthy, enabled, and of a usable weight.
    #[must_use]
    pub fn is_pickable(&self) -> bool {
        self.healthy && self.takes_traffic()
    }

    /// Whether a draw may return it as far as health is left out.
    pub(crate) fn takes_traffic(&self) -> bool {
        self.enabled && Weight::usable(self.weight).is_some()
    }

    /// Order by identity: ip, port, cluster.
    pub(crate) fn cmp_key(&self, other: &Self) -> Ordering {
        self.key_parts().cmp(&other.key_parts())
    }

    pub(crate) fn key_parts(&self) -> (&str, u16, &str) {
        (&self.ip, self.port, &self.cluster)
    }
}

impl PartialEq for Instance {
    fn eq(&self, other: &Self) -> bool {
        self.key_parts() == other.key_parts()
            && (self.weight == other.weight || (self.weight.is_nan() && other.weight.is_nan()))
            && (self.healthy, self.enabled, self.ephemeral) == (other.healthy, other.enabled, other.ephemeral)
            && self.metadata == other.metadata
    }
}

// A NaN weight equals a NaN weight above, so equality is total.
impl Eq for Instance {}

impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_host_port(f, &self.ip, self.port)
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance")
            .field("addr", &self.addr())
            .field("cluster", &self.cluster)
            .field("weight", &self.weight)
            .field("healthy", &self.healthy)
            .field("enabled", &self.enabled)
            .field("ephemeral", &self.ephemeral)
            .field("metadata", &self.metadata)
            .finish_non_exhaustive()
    }
}

/// What identifies an instance within its service: ip, port and cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct InstanceKey {
    /// IP address or host name.
    pub ip: String,
    /// Port.
    pub port: u16,
    /// Cluster.
    pub cluster: String,
}

impl InstanceKey {
    /// The instance at this address in this cluster; blank means [`DEFAULT_CLUSTER`].
    #[must_use]
    pub fn new(addr: impl Into<InstanceAddr>, cluster: impl AsRef<str>) -> Self {
        let (ip, port) = addr.into().into_parts();
        let cluster = cluster.as_ref();
        let cluster = if cluster.trim().is_empty() { DEFAULT_CLUSTER } else { cluster };
        Self { ip, port, cluster: cluster.to_owned() }
    }

    pub(crate) fn parts(&self) -> (&str, u16, &str) {
        (&self.ip, self.port, &self.cluster)
    }

    /// Whether that is `instance`.
    #[must_use]
    pub fn is(&self, instance: &Instance) -> bool {
        self.parts() == instance.key_parts()
    }
}

impl fmt::Display for InstanceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_host_port(f, &self.ip, self.port)?;
        if self.cluster == DEFAULT_CLUSTER { Ok(()) } else { write!(f, "@{}", self.cluster) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g13_ipv6_has_brackets_only_in_addresses() {
        let instance = Instance::new(("[2001:db8::5]", 80));
        assert_eq!(instance.ip, "2001:db8::5");
        assert_eq!(instance.addr(), "[2001:db8::5]:80");
        assert_eq!(Instance::parse(&instance.addr()), Ok(instance));
    }

    #[test]
    fn equality_is_content_without_id_and_total() {
        let a = Instance::new(("h", 1)).weight(f64::NAN);
        let mut b = a.clone();
        b.instance_id = Some("h#1".to_owned());
        assert_eq!(a, b);
        assert_ne!(a, b.clone().weight(1.0));
        assert_ne!(a, b.metadata("k", "v"));
    }

    #[test]
    fn cluster_is_part_of_the_identity() {
        let a = Instance::new(("h", 1));
        assert_ne!(a.key(), a.clone().cluster("c1").key());
        assert!(InstanceKey::new(("h", 1), "").is(&a));
        assert_eq!(a.cluster("c1").key().to_string(), "h:1@c1");
    }
}
