//! What a process registers: its address, its settings, and the metadata that Spring Cloud applications write and read.

use std::collections::BTreeMap;
use std::net::{Ipv6Addr, SocketAddr};

use nacos_client::Instance;

use crate::DiscoveryConfig;
use crate::address::{AddressChoiceError, Advertised, advertised};

/// Tells what registered the instance. Consumers only show it.
const SOURCE_KEY: &str = "preserved.register.source";
const SOURCE: &str = "RUST";

impl DiscoveryConfig {
    /// The instance to register for a process that listens on `bound`: the address chosen by [`DiscoveryConfig::address`],
    /// the port set or else that of `bound`, and the metadata.
    ///
    /// The address is that configured, else the one bound to if it is a specific one, else that of the interface
    /// configured, else that by which this machine reaches the registry, else the first one found. The choice is logged
    /// with what was passed over. An IPv6 address beside an IPv4 one is told in the metadata if `bound` is `[::]`.
    ///
    /// # Errors
    /// If the interface configured is not there or has no address.
    ///
    /// # Cancel safety
    /// Nothing is changed.
    pub async fn instance(&self, bound: SocketAddr) -> Result<Instance, AddressChoiceError> {
        Ok(instance(self, advertised(self, bound).await?, bound.port()))
    }

    /// An instance with all that does not depend on where the process listens.
    pub(crate) fn sample(&self) -> Instance {
        let host = self.address().ip.as_deref().unwrap_or("127.0.0.1");
        instance(self, Advertised::new(host, "it is a sample"), 1)
    }
}

fn instance(config: &DiscoveryConfig, own: Advertised, port: u16) -> Instance {
    let mut instance = Instance::new((own.host, config.port().unwrap_or(port)))
        .weight(config.weight())
        .cluster(config.cluster())
        .enabled(config.instance_enabled());
    instance.ephemeral = config.ephemeral();
    instance.metadata = metadata(config, own.ipv6);
    instance
}

/// The user's entries, with those over them that follow from settings, as in Spring. Only the source may be the user's,
/// for those who filter on `SPRING_CLOUD`.
fn metadata(config: &DiscoveryConfig, ipv6: Option<Ipv6Addr>) -> BTreeMap<String, String> {
    let mut metadata = config.metadata().clone();
    metadata.entry(SOURCE_KEY.to_owned()).or_insert_with(|| SOURCE.to_owned());

    let heart_beat = config.heart_beat();
    let millis = |duration: Option<std::time::Duration>| duration.map(|duration| duration.as_millis().to_string());
    let management = config.management();
    // Where it is managed means something only with a port.
    let managed = |value: &Option<String>| value.clone().filter(|_| management.port.is_some());
    let entries = [
        ("secure", config.secure().then(|| "true".to_owned())),
        // In brackets, as Java puts it into a URI unchanged.
        ("IPv6", ipv6.map(|ip| format!("[{ip}]"))),
        ("preserved.heart.beat.interval", millis(heart_beat.interval)),
        ("preserved.heart.beat.timeout", millis(heart_beat.timeout)),
        ("preserved.ip.delete.timeout", millis(heart_beat.delete)),
        ("management.port", management.port.map(|port| port.to_string())),
        ("management.context-path", managed(&management.context_path)),
        ("management.address", managed(&management.address)),
        ("management.endpoints.web.base-path", management.base_path.clone()),
    ];
    metadata.extend(entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    metadata
}

#[cfg(test)]
mod tests;
