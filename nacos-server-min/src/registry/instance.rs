use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use nacos_proto::grpc as wire;

use super::names::Names;

/// Cluster of an instance that names none.
pub(crate) const DEFAULT_CLUSTER: &str = "DEFAULT";

/// Address of an instance. Most are addresses, which take no heap; host names and odd spellings are kept as written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Host {
    V4(Ipv4Addr),
    V6(Ipv6Addr),
    Text(Box<str>),
    /// The registrant named none.
    Absent,
}

impl Host {
    pub(crate) fn new(text: Option<&str>) -> Self {
        let Some(text) = text else { return Self::Absent };
        // Only the canonical spelling may be stored as bytes: lists must repeat what the registrant wrote.
        match text.parse::<IpAddr>() {
            Ok(IpAddr::V4(v4)) if v4.to_string() == text => Self::V4(v4),
            Ok(IpAddr::V6(v6)) if v6.to_string() == text => Self::V6(v6),
            _ => Self::Text(text.into()),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(v4) => v4.fmt(f),
            Self::V6(v6) => v6.fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::Absent => f.write_str("null"),
        }
    }
}

/// How the id shown in lists comes about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InstanceId {
    /// `ip#port#cluster#group@@service`.
    Derived,
    /// The same, with `null` for a cluster that the registrant did not name.
    DerivedNullCluster,
    /// The same, with an empty cluster.
    DerivedEmptyCluster,
    /// Registered in a way that gives none.
    Missing,
    /// A text of its own: given by the registrant, or generated.
    Given(Box<str>),
}

/// One published instance, as small as it can be: there may be a million of them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Instance {
    pub(crate) host: Host,
    pub(crate) cluster: Arc<str>,
    pub(crate) weight: f64,
    pub(crate) id: InstanceId,
    /// Sorted by key; no heap when empty.
    pub(crate) metadata: Box<[(Box<str>, Box<str>)]>,
    pub(crate) port: u16,
    pub(crate) healthy: bool,
    pub(crate) enabled: bool,
}

impl Instance {
    /// From a checked wire instance; a port outside of 0…65535 is cut to its low bits, which checking has ruled out.
    pub(crate) fn from_wire(names: &Names, from: wire::Instance, id: InstanceId) -> Self {
        let cluster = match from.cluster_name.as_deref().map(str::trim) {
            None | Some("") => DEFAULT_CLUSTER,
            Some(_) => from.cluster_name.as_deref().unwrap_or(DEFAULT_CLUSTER),
        };
        Self {
            host: Host::new(from.ip.as_deref()),
            cluster: names.intern(cluster),
            weight: from.weight,
            id,
            #[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "checked to be 0…65535")]
            port: from.port as u16,
            healthy: from.healthy,
            enabled: from.enabled,
            metadata: from
                .metadata
                .into_entries()
                .into_iter()
                .map(|(key, value)| (key.into_boxed_str(), value.into_boxed_str()))
                .collect(),
        }
    }

    /// Order and identity of a row within a service.
    pub(crate) fn row(&self) -> (&Host, u16, &str) {
        (&self.host, self.port, &self.cluster)
    }

    pub(crate) fn metadata(&self, key: &str) -> Option<&str> {
        let at = self.metadata.binary_search_by(|(k, _)| (**k).cmp(key)).ok()?;
        self.metadata.get(at).map(|(_, value)| &**value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Service;

    #[test]
    fn an_address_is_shown_as_it_was_written() {
        for text in ["10.0.0.9", "fe80::1", "FE80::1", "010.0.0.9", "host.local", "", "[::1]"] {
            assert_eq!(Host::new(Some(text)).to_string(), text);
        }
        assert_eq!(Host::new(None), Host::Absent);
    }

    #[test]
    fn a_plain_instance_and_its_service_stay_small() {
        assert!(size_of::<Instance>() <= 96, "{}", size_of::<Instance>());
        assert!(size_of::<Service>() <= 176, "{}", size_of::<Service>());
    }
}
