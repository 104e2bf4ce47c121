use serde::de::{self, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use super::Instance;
use crate::lenient;

/// The list of a service's instances: in answers to queries and subscriptions, and in pushes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServiceInfo {
    /// Bare service name; some writers put `group@@name` here.
    pub name: Option<String>,
    /// Group.
    pub group_name: Option<String>,
    /// The cluster filter of the request or subscription, verbatim; left out when it was null.
    pub clusters: Option<String>,
    /// How often to ask for the list where it is not pushed, in milliseconds; `None` when the sender wrote no number.
    pub cache_millis: Option<i64>,
    /// The instances; `None` when the sender wrote null or nothing, which means "no statement", not "empty".
    pub hosts: Option<Vec<Instance>>,
    /// The sender's wall clock, in milliseconds, when it built the list.
    pub last_ref_time: i64,
    /// No meaning since 2.x.
    pub checksum: String,
    /// The list is complete even if no host is usable. Written and read in both spellings, `allIPs` and `allIps`.
    pub all_ips: bool,
    /// So few hosts are healthy that all are listed as healthy.
    pub reach_protection_threshold: bool,
}

impl ServiceInfo {
    /// Group and bare name, whether the sender kept them apart or joined them as `group@@name`.
    pub fn key(&self) -> Option<(&str, &str)> {
        let name = self.name.as_deref()?;
        match name.split_once("@@") {
            Some((group, bare)) => Some((group, bare)),
            None => Some((self.group_name.as_deref()?, name)),
        }
    }
}

impl Serialize for ServiceInfo {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("ServiceInfo", 11)?;
        if let Some(name) = &self.name {
            out.serialize_field("name", name)?;
        }
        if let Some(group) = &self.group_name {
            out.serialize_field("groupName", group)?;
        }
        if let Some(clusters) = &self.clusters {
            out.serialize_field("clusters", clusters)?;
        }
        if let Some(millis) = self.cache_millis {
            out.serialize_field("cacheMillis", &millis)?;
        }
        out.serialize_field("hosts", self.hosts.as_deref().unwrap_or(&[]))?;
        out.serialize_field("lastRefTime", &self.last_ref_time)?;
        out.serialize_field("checksum", &self.checksum)?;
        out.serialize_field("allIPs", &self.all_ips)?;
        out.serialize_field("allIps", &self.all_ips)?;
        out.serialize_field("reachProtectionThreshold", &self.reach_protection_threshold)?;
        out.serialize_field("valid", &true)?;
        out.end()
    }
}

/// Wrappers that give the tolerant readers to a hand-written visitor.
mod read {
    use super::{Deserialize, Deserializer, Instance, lenient};

    macro_rules! reader {
        ($name:ident, $type:ty, $with:path) => {
            pub(super) struct $name(pub(super) $type);
            impl<'de> Deserialize<'de> for $name {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    $with(deserializer).map(Self)
                }
            }
        };
    }

    reader!(Text, Option<String>, lenient::text);
    reader!(Long, i64, lenient::integer);
    reader!(Millis, Option<i64>, lenient::readable_integer);
    reader!(Flag, bool, lenient::boolean);
    reader!(Hosts, Option<Vec<Instance>>, lenient::present_objects);
}

/// Written by hand because a peer may send both spellings of `allIPs`, which a derived reader takes for a repeated key.
impl<'de> Deserialize<'de> for ServiceInfo {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InfoVisitor;
        impl<'de> Visitor<'de> for InfoVisitor {
            type Value = ServiceInfo;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a service's list")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ServiceInfo, A::Error> {
                let mut info = ServiceInfo::default();
                while let Some(key) = map.next_key::<Key>()? {
                    read_field(&mut info, &key, &mut map)?;
                }
                Ok(info)
            }
        }
        deserializer.deserialize_map(InfoVisitor)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum Key {
    Name,
    GroupName,
    Clusters,
    CacheMillis,
    Hosts,
    LastRefTime,
    Checksum,
    #[serde(rename = "allIPs", alias = "allIps")]
    AllIps,
    ReachProtectionThreshold,
    #[serde(other)]
    Other,
}

fn read_field<'de, A: MapAccess<'de>>(info: &mut ServiceInfo, key: &Key, map: &mut A) -> Result<(), A::Error>
where
    A::Error: de::Error,
{
    match key {
        Key::Name => info.name = map.next_value::<read::Text>()?.0,
        Key::GroupName => info.group_name = map.next_value::<read::Text>()?.0,
        Key::Clusters => info.clusters = map.next_value::<read::Text>()?.0,
        Key::CacheMillis => info.cache_millis = map.next_value::<read::Millis>()?.0,
        Key::Hosts => info.hosts = map.next_value::<read::Hosts>()?.0,
        Key::LastRefTime => info.last_ref_time = map.next_value::<read::Long>()?.0,
        Key::Checksum => info.checksum = map.next_value::<read::Text>()?.0.unwrap_or_default(),
        Key::AllIps => info.all_ips |= map.next_value::<read::Flag>()?.0,
        Key::ReachProtectionThreshold => info.reach_protection_threshold = map.next_value::<read::Flag>()?.0,
        Key::Other => drop(map.next_value::<IgnoredAny>()?),
    }
    Ok(())
}
