use crate::registry::{Host, KeyRef, Service};

/// The identity of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServiceKey {
    pub(crate) namespace: String,
    pub(crate) group: String,
    pub(crate) name: String,
}

impl ServiceKey {
    pub(crate) fn of(service: &Service) -> Self {
        let (namespace, group) = (service.namespace.to_string(), service.group.to_string());
        Self { namespace, group, name: service.name.to_string() }
    }

    pub(crate) fn as_ref(&self) -> KeyRef<'_> {
        KeyRef { namespace: &self.namespace, group: &self.group, name: &self.name }
    }

    /// `group@@name`
    pub(crate) fn grouped(&self) -> String {
        format!("{}@@{}", self.group, self.name)
    }
}

/// The identity of an instance within its service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InstanceKey {
    pub(crate) host: Host,
    pub(crate) port: u16,
    pub(crate) cluster: String,
}

impl InstanceKey {
    pub(crate) fn new(ip: &str, port: u16, cluster: &str) -> Self {
        Self { host: Host::new(Some(ip)), port, cluster: cluster.to_owned() }
    }

    pub(crate) fn row(&self) -> (&Host, u16, &str) {
        (&self.host, self.port, &self.cluster)
    }
}
