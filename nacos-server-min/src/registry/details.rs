use std::collections::BTreeMap;
use std::sync::Arc;

use super::overrides::Overrides;

/// What an operator said about a service, beyond what its registrants say. Most services have none of it.
#[derive(Debug, Default)]
pub(super) struct Details {
    /// Created on its own, not by a registration: it stays when it is empty.
    pub(super) created: bool,
    /// Present once the service was created or changed by an operator; only then does the protection threshold count.
    pub(super) metadata: Option<Arc<ServiceMetadata>>,
    pub(super) clusters: BTreeMap<Box<str>, Arc<ClusterMetadata>>,
    pub(super) overrides: Overrides,
}

impl Details {
    /// The threshold that lists are protected by, if any.
    pub(super) fn threshold(&self) -> Option<f32> {
        self.metadata.as_deref().and_then(ServiceMetadata::threshold)
    }
}

/// Key of a service's metadata that switches its protection off.
const PROTECT: &str = "protect";
const OFF: &str = "off";

/// What an operator says about a service as a whole.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ServiceMetadata {
    /// As given; negative means 0.
    pub(crate) threshold: f32,
    pub(crate) entries: BTreeMap<String, String>,
    pub(crate) selector: Selector,
}

impl ServiceMetadata {
    /// At or below this share of healthy instances, all are shown as healthy. `None`: never.
    pub(crate) fn threshold(&self) -> Option<f32> {
        let off = self.entries.get(PROTECT).is_some_and(|value| value.trim().eq_ignore_ascii_case(OFF));
        (!off && !self.threshold.is_nan()).then_some(self.threshold.max(0.0))
    }
}

/// How the instances for a consumer are chosen. It is kept and shown; without labels of consumers it chooses everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Selector {
    #[default]
    None,
    /// `CONSUMER.label.a = PROVIDER.label.a & …`
    Label(String),
}

/// How the health of a cluster's persistent instances is found out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum HealthChecker {
    #[default]
    Tcp,
    Http {
        path: String,
        headers: String,
        expected: i32,
    },
    Mysql {
        user: Option<String>,
        password: Option<String>,
        command: Option<String>,
    },
    /// Nobody looks: whoever runs the instances says how they are.
    None,
}

/// What an operator says about one cluster of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClusterMetadata {
    pub(crate) checker: HealthChecker,
    pub(crate) check_port: i32,
    /// Check the instance's own port, not `check_port`.
    pub(crate) use_instance_port: bool,
    pub(crate) entries: BTreeMap<String, String>,
}

impl Default for ClusterMetadata {
    fn default() -> Self {
        Self { checker: HealthChecker::Tcp, check_port: 80, use_instance_port: true, entries: BTreeMap::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_can_really_be_off() {
        let with = |threshold, value: Option<&str>| {
            let entries = value.map(|v| (PROTECT.to_owned(), v.to_owned())).into_iter().collect();
            ServiceMetadata { threshold, entries, selector: Selector::None }.threshold()
        };
        assert_eq!(with(0.5, None), Some(0.5));
        assert_eq!(with(-1.0, None), Some(0.0), "a negative one is no switch, as in other servers");
        assert_eq!((with(0.5, Some("off")), with(0.0, Some(" OFF "))), (None, None));
        assert_eq!(with(0.5, Some("on")), Some(0.5));
        assert_eq!(with(f32::NAN, None), None);
    }
}
