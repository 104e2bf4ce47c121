use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use super::MetadataMap;
use crate::lenient;

const BEAT_INTERVAL: &str = "preserved.heart.beat.interval";
const BEAT_TIMEOUT: &str = "preserved.heart.beat.timeout";
const DELETE_TIMEOUT: &str = "preserved.ip.delete.timeout";
const ID_GENERATOR: &str = "preserved.instance.id.generator";

/// One instance as it stands in requests and lists.
///
/// The three times and the id generator are written from the metadata and never read.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Instance {
    /// Set by the server when the registrant left it out.
    #[serde(deserialize_with = "lenient::text")]
    pub instance_id: Option<String>,
    /// Address or host name; real lists hold instances without one.
    #[serde(deserialize_with = "lenient::text")]
    pub ip: Option<String>,
    /// Port; may be outside 0…65535 before it is checked.
    #[serde(deserialize_with = "lenient::integer")]
    pub port: i32,
    /// Weight; any double, as real servers take and pass on everything.
    #[serde(deserialize_with = "lenient::number")]
    pub weight: f64,
    /// Whether the instance passes its health check.
    #[serde(deserialize_with = "lenient::boolean")]
    pub healthy: bool,
    /// False hides the instance from lists.
    #[serde(deserialize_with = "lenient::boolean")]
    pub enabled: bool,
    /// Ephemeral instances live as long as their connection.
    #[serde(deserialize_with = "lenient::boolean")]
    pub ephemeral: bool,
    /// Cluster; absent or empty means `DEFAULT`.
    #[serde(deserialize_with = "lenient::text")]
    pub cluster_name: Option<String>,
    /// `group@@service` in lists, left out of requests.
    #[serde(deserialize_with = "lenient::text")]
    pub service_name: Option<String>,
    /// Labels of the instance.
    #[serde(deserialize_with = "lenient::metadata")]
    pub metadata: MetadataMap,
}

impl Default for Instance {
    fn default() -> Self {
        Self {
            instance_id: None,
            ip: None,
            port: 0,
            weight: 1.0,
            healthy: true,
            enabled: true,
            ephemeral: true,
            cluster_name: None,
            service_name: None,
            metadata: MetadataMap::default(),
        }
    }
}

impl Instance {
    /// Milliseconds between beats: metadata `preserved.heart.beat.interval`, or 5 000.
    pub fn beat_interval_ms(&self) -> i64 {
        self.time(BEAT_INTERVAL, 5_000)
    }

    /// Milliseconds without a beat until unhealthy: metadata `preserved.heart.beat.timeout`, or 15 000.
    pub fn beat_timeout_ms(&self) -> i64 {
        self.time(BEAT_TIMEOUT, 15_000)
    }

    /// Milliseconds without a beat until removed: metadata `preserved.ip.delete.timeout`, or 30 000.
    pub fn delete_timeout_ms(&self) -> i64 {
        self.time(DELETE_TIMEOUT, 30_000)
    }

    /// `simple` for empty metadata, else what the metadata name, which may be nothing.
    pub fn id_generator(&self) -> Option<&str> {
        if self.metadata.is_empty() { Some("simple") } else { self.metadata.get(ID_GENERATOR).map(String::as_str) }
    }

    fn time(&self, key: &str, default: i64) -> i64 {
        // Only plain digits count; signs and units fall back to the default.
        self.metadata
            .get(key)
            .filter(|text| text.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|text| text.parse().ok())
            .unwrap_or(default)
    }
}

impl Serialize for Instance {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Instance", 14)?;
        if let Some(id) = &self.instance_id {
            out.serialize_field("instanceId", id)?;
        }
        if let Some(ip) = &self.ip {
            out.serialize_field("ip", ip)?;
        }
        out.serialize_field("port", &self.port)?;
        out.serialize_field("weight", &Number(self.weight))?;
        out.serialize_field("healthy", &self.healthy)?;
        out.serialize_field("enabled", &self.enabled)?;
        out.serialize_field("ephemeral", &self.ephemeral)?;
        if let Some(cluster) = &self.cluster_name {
            out.serialize_field("clusterName", cluster)?;
        }
        if let Some(service) = &self.service_name {
            out.serialize_field("serviceName", service)?;
        }
        out.serialize_field("metadata", &self.metadata)?;
        out.serialize_field("instanceHeartBeatInterval", &self.beat_interval_ms())?;
        out.serialize_field("instanceHeartBeatTimeOut", &self.beat_timeout_ms())?;
        out.serialize_field("ipDeleteTimeout", &self.delete_timeout_ms())?;
        if let Some(generator) = self.id_generator() {
            out.serialize_field("instanceIdGenerator", generator)?;
        }
        out.end()
    }
}

/// A double, with the texts peers use for what JSON cannot hold.
struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() {
            serializer.serialize_f64(self.0)
        } else if self.0.is_nan() {
            serializer.serialize_str("NaN")
        } else if self.0 > 0.0 {
            serializer.serialize_str("Infinity")
        } else {
            serializer.serialize_str("-Infinity")
        }
    }
}
