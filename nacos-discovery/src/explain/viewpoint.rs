use std::fmt;

use serde::Serialize;

use crate::pick::Reach;
use crate::settings::ServiceSettings;

/// What the choice among the instances of a service depends on beside these: who calls, and how one is chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Viewpoint {
    /// The own cluster, whose instances are preferred; `None` if none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The own zone, whose instances are preferred; `None` if none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Addresses that can be used here: `IPv4`, `IPv6`, or `IPv4 and IPv6`.
    pub addresses: &'static str,
    /// How one is chosen.
    pub policy: String,
}

impl Viewpoint {
    pub(super) fn new(settings: &ServiceSettings, reach: Reach) -> Self {
        let selection = settings.selection();
        Self {
            cluster: selection.own_cluster().map(str::to_owned),
            zone: selection.zone().map(str::to_owned),
            addresses: reach.name(),
            policy: format!("{:?}", settings.policy()),
        }
    }
}

impl fmt::Display for Viewpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cluster {
            Some(cluster) => write!(f, "cluster {cluster}")?,
            None => f.write_str("no cluster")?,
        }
        if let Some(zone) = &self.zone {
            write!(f, ", zone {zone}")?;
        }
        write!(f, "; addresses {}; policy {}", self.addresses, self.policy)
    }
}
