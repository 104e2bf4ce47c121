use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::Ipv6Addr;
use std::sync::Arc;

use nacos_client::{Instance, InstanceAddr, InstanceKey, ServiceKey};

use super::MetadataView;

/// The metadata key under which an instance says that it speaks TLS.
const SECURE: &str = "secure";
/// The metadata key under which an instance with an IPv4 address names its IPv6 address.
const IPV6: &str = "IPv6";
/// The metadata key under which an instance names its zone.
const ZONE: &str = "zone";

/// One instance of a service that was asked for. Cheap to clone.
///
/// Equality is identity: service, address and cluster. An instance of which only the weight changed is the same one;
/// [`ServiceInstance::same_content`] tells the difference.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use nacos_client::{Instance, ServiceKey};
/// use nacos_discovery::ServiceInstance;
///
/// let instance = Instance::new(("2001:db8::5", 8443)).metadata("secure", "true");
/// let order = ServiceInstance::new(ServiceKey::new("", "order-service"), Arc::new(instance));
/// assert_eq!(order.uri(), "https://[2001:db8::5]:8443");
/// assert_eq!(order.metadata().get("nacos.weight").as_deref(), Some("1.0"));
/// ```
#[derive(Clone)]
pub struct ServiceInstance {
    service: ServiceKey,
    instance: Arc<Instance>,
}

impl ServiceInstance {
    /// An instance of `service`, which is the name it was asked for by.
    #[must_use]
    pub const fn new(service: ServiceKey, instance: Arc<Instance>) -> Self {
        Self { service, instance }
    }

    /// The service it was asked for by.
    #[must_use]
    pub const fn service(&self) -> &ServiceKey {
        &self.service
    }

    /// The instance as the registry lists it.
    #[must_use]
    pub const fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// What identifies it within its service.
    #[must_use]
    pub fn key(&self) -> InstanceKey {
        self.instance.key()
    }

    /// The id that the server gave it, if it gave one. Identity is [`ServiceInstance::key`], not this.
    #[must_use]
    pub fn instance_id(&self) -> Option<&str> {
        self.instance.instance_id.as_deref()
    }

    /// IP address, IPv6 without brackets, or host name.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.instance.ip
    }

    /// The port as registered; 0 stands for the one of the scheme.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.instance.port
    }

    /// Share of the traffic relative to the others.
    #[must_use]
    pub fn weight(&self) -> f64 {
        self.instance.weight
    }

    /// Whether the registry takes it for healthy.
    #[must_use]
    pub fn healthy(&self) -> bool {
        self.instance.healthy
    }

    /// Whether it takes traffic at all.
    #[must_use]
    pub fn enabled(&self) -> bool {
        self.instance.enabled
    }

    /// Whether it lives only as long as whoever registered it.
    #[must_use]
    pub fn ephemeral(&self) -> bool {
        self.instance.ephemeral
    }

    /// Its cluster.
    #[must_use]
    pub fn cluster(&self) -> &str {
        &self.instance.cluster
    }

    /// Whether it speaks TLS: the metadata entry `secure` is `true`, in any case.
    #[must_use]
    pub fn secure(&self) -> bool {
        self.instance.metadata.get(SECURE).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// Its IPv6 address: its own one, or the one in its metadata, which may be in brackets.
    #[must_use]
    pub fn ipv6(&self) -> Option<Ipv6Addr> {
        let own = self.host().parse().ok();
        own.or_else(|| self.ipv6_beside())
    }

    /// The IPv6 address in its metadata.
    pub(crate) fn ipv6_beside(&self) -> Option<Ipv6Addr> {
        let value = self.instance.metadata.get(IPV6)?;
        let bare = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        bare.unwrap_or(value).parse().ok()
    }

    /// Its zone: the metadata entry `zone`, if it is not blank.
    #[must_use]
    pub fn zone(&self) -> Option<&str> {
        self.instance.metadata.get(ZONE).map(|zone| zone.trim()).filter(|zone| !zone.is_empty())
    }

    /// `https` if it speaks TLS, else `http`.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        if self.secure() { "https" } else { "http" }
    }

    /// Scheme, host and port, IPv6 in brackets: `http://10.0.0.9:8080`.
    #[must_use]
    pub fn uri(&self) -> String {
        let port = match self.port() {
            0 if self.secure() => 443,
            0 => 80,
            port => port,
        };
        format!("{}://{}", self.scheme(), InstanceAddr::new(self.host(), port))
    }

    /// The metadata as Spring Cloud Alibaba shows them, with the `nacos.*` entries.
    #[must_use]
    pub fn metadata(&self) -> MetadataView<'_> {
        MetadataView::new(&self.instance)
    }

    /// The metadata that were registered, and nothing else.
    #[must_use]
    pub fn registered_metadata(&self) -> &BTreeMap<String, String> {
        &self.instance.metadata
    }

    /// Whether everything that a caller may care about is the same, beyond identity: weight, health, metadata …
    #[must_use]
    pub fn same_content(&self, other: &Self) -> bool {
        self.service == other.service && self.instance == other.instance
    }

    pub(super) fn identity(&self) -> (&ServiceKey, &str, u16, &str) {
        (&self.service, &self.instance.ip, self.instance.port, &self.instance.cluster)
    }
}

impl PartialEq for ServiceInstance {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for ServiceInstance {}

impl Hash for ServiceInstance {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

impl fmt::Display for ServiceInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.instance, f)
    }
}

impl fmt::Debug for ServiceInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceInstance").field("service", &self.service).field("instance", &self.instance).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(instance: Instance) -> ServiceInstance {
        ServiceInstance::new(ServiceKey::new("", "orders"), Arc::new(instance))
    }

    #[test]
    fn the_uri_has_the_scheme_of_the_instance_and_a_port() {
        for (instance, uri) in [
            (Instance::new(("10.0.0.1", 8080)), "http://10.0.0.1:8080"),
            (Instance::new(("10.0.0.1", 0)), "http://10.0.0.1:80"),
            (Instance::new(("orders.internal", 0)).metadata("secure", "TRUE"), "https://orders.internal:443"),
            (Instance::new(("10.0.0.1", 1)).metadata("secure", "yes"), "http://10.0.0.1:1"),
            (Instance::new(("[2001:db8::1]", 1)), "http://[2001:db8::1]:1"),
        ] {
            assert_eq!(of(instance).uri(), uri);
        }
    }

    #[test]
    fn the_ipv6_address_is_read_with_and_without_brackets() {
        let expected: Ipv6Addr = "2001:db8::5".parse().unwrap();
        let v4 = Instance::new(("10.0.0.1", 1));
        for value in ["2001:db8::5", "[2001:db8::5]"] {
            assert_eq!(of(v4.clone().metadata("IPv6", value)).ipv6(), Some(expected));
        }
        assert_eq!(of(Instance::new(("[2001:db8::5]", 1))).ipv6(), Some(expected));
        for broken in ["null", "", "[", "[2001:db8::5", "10.0.0.1"] {
            assert_eq!(of(v4.clone().metadata("IPv6", broken)).ipv6(), None, "{broken}");
        }
    }

    #[test]
    fn a_change_of_weight_makes_no_other_instance() {
        let one = of(Instance::new(("h", 1)));
        let heavier = of(Instance::new(("h", 1)).weight(2.0));
        assert_eq!(one, heavier);
        assert!(!one.same_content(&heavier) && one.same_content(&one.clone()));
        assert_ne!(one, of(Instance::new(("h", 1)).cluster("c1")));
        assert_ne!(one, ServiceInstance::new(ServiceKey::new("G", "orders"), Arc::clone(one.instance())));
    }
}
