//! What operators see and set.

use std::{collections::BTreeMap, fmt, time::SystemTime};

use crate::model::{Namespace, ServiceKey};

/// Which interface a server offers to operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Generation {
    /// Paths below `/v1`: Nacos 1.x and 2.x.
    V1,
    /// Paths below `/v3/admin`: Nacos 3.x.
    V3,
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V1 => "v1",
            Self::V3 => "v3 admin",
        })
    }
}

/// What a server says of itself. A part that it does not tell is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerState {
    /// The configured server that answered.
    pub server: String,
    /// Its version, such as `2.5.1`.
    pub version: Option<String>,
    /// `standalone` or `cluster`.
    pub mode: Option<String>,
    /// `UP` if it serves.
    pub status: Option<String>,
    /// Whether it lets only known users in.
    pub auth: Option<bool>,
    /// What it offers to operators.
    pub generation: Generation,
    /// Its clock, in whole seconds.
    pub clock: Option<SystemTime>,
}

/// Which services are wanted; parts of names, empty for all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceFilter {
    /// Part of the group's name.
    pub group: String,
    /// Part of the service's name.
    pub name: String,
}

impl ServiceFilter {
    /// All services of the namespace.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Those whose group contains `part`.
    #[must_use]
    pub fn group(mut self, part: impl Into<String>) -> Self {
        self.group = part.into();
        self
    }

    /// Those whose name contains `part`.
    #[must_use]
    pub fn name(mut self, part: impl Into<String>) -> Self {
        self.name = part.into();
        self
    }
}

/// One line of the list of services.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceSummary {
    /// The service.
    pub key: ServiceKey,
    /// How many clusters it has.
    pub clusters: u64,
    /// How many instances, disabled ones included.
    pub instances: u64,
    /// How many of them are healthy.
    pub healthy: u64,
    /// Whether so few are healthy that consumers get unhealthy ones too.
    pub protected: bool,
}

/// A service as a whole.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServiceDetail {
    /// The service.
    pub key: ServiceKey,
    /// Share of healthy instances at or below which consumers get unhealthy ones too, 0 to 1.
    pub protect_threshold: f64,
    /// The service's own metadata.
    pub metadata: BTreeMap<String, String>,
    /// The selector as JSON, if there is one that selects.
    pub selector: Option<String>,
    /// Its clusters; 2.x tells only those with instances.
    pub clusters: Vec<String>,
    /// Whether its instances are ephemeral; not told by 1.x and 2.x.
    pub ephemeral: Option<bool>,
}

/// What a service is created with.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ServiceSettings {
    /// Share of healthy instances at or below which consumers get unhealthy ones too. Default 0.
    pub protect_threshold: f64,
    /// The service's own metadata. Default none.
    pub metadata: BTreeMap<String, String>,
    /// The selector as JSON. Default none.
    pub selector: Option<String>,
}

impl ServiceSettings {
    /// With this threshold, 0 to 1.
    #[must_use]
    pub fn protect_threshold(mut self, share: f64) -> Self {
        self.protect_threshold = share;
        self
    }

    /// With one more entry of metadata.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }
}

/// What is to change on an instance; the rest stays.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct InstanceChange {
    /// Weight, 0 to 10 000.
    pub weight: Option<f64>,
    /// Whether consumers see it.
    pub enabled: Option<bool>,
    /// All metadata. 2.x and 3.x lay them over what the instance registered, so that registered keys stay.
    pub metadata: Option<BTreeMap<String, String>>,
}

impl InstanceChange {
    /// Another weight.
    #[must_use]
    pub fn weight(mut self, weight: f64) -> Self {
        self.weight = Some(weight);
        self
    }

    /// Shows it to consumers, or hides it.
    #[must_use]
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.enabled = Some(enabled);
        self
    }

    /// Other metadata.
    #[must_use]
    pub fn metadata(mut self, metadata: BTreeMap<String, String>) -> Self {
        self.metadata = Some(metadata);
        self
    }
}

/// Who is pushed the list of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Subscriber {
    /// The service; servers find them by parts of names.
    pub key: ServiceKey,
    /// Address and port, as the server writes them.
    pub addr: String,
    /// Name and version of the client.
    pub agent: String,
    /// Its application.
    pub app: String,
}

/// A declared namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamespaceInfo {
    /// The id, which is what clients are configured with.
    pub id: Namespace,
    /// The name that consoles show.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// How many configurations it has.
    pub configs: u64,
}
