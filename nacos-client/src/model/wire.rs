//! From and to the wire form.

use std::sync::Arc;

use nacos_proto::grpc;

use super::snapshot::HostList;
use super::{DEFAULT_CLUSTER, Instance, InstanceAddr, ServiceKey};

impl Instance {
    /// What a list says about an instance; `None` if it has no address or a port that cannot exist: nobody could call it.
    pub(crate) fn from_wire(wire: grpc::Instance) -> Option<Self> {
        let port = u16::try_from(wire.port).ok()?;
        let ip = wire.ip.filter(|ip| !ip.trim().is_empty())?;
        let (ip, port) = InstanceAddr::new(ip, port).into_parts();
        Some(Self {
            ip,
            port,
            weight: wire.weight,
            healthy: wire.healthy,
            enabled: wire.enabled,
            ephemeral: wire.ephemeral,
            cluster: wire.cluster_name.filter(|c| !c.trim().is_empty()).unwrap_or_else(|| DEFAULT_CLUSTER.to_owned()),
            metadata: wire.metadata.into_entries(),
            instance_id: wire.instance_id,
        })
    }

    /// What a registration says about itself.
    pub(crate) fn to_wire(&self) -> grpc::Instance {
        grpc::Instance {
            instance_id: self.instance_id.clone(),
            ip: Some(self.ip.clone()),
            port: i32::from(self.port),
            weight: self.weight,
            healthy: self.healthy,
            enabled: self.enabled,
            ephemeral: self.ephemeral,
            cluster_name: Some(self.cluster.clone()),
            service_name: None,
            metadata: self.metadata.clone().into(),
        }
    }
}

impl HostList {
    /// The list of an answer or push; `None` when it makes no statement about the instances.
    pub(crate) fn from_wire(info: grpc::ServiceInfo) -> Option<Self> {
        let hosts = info.hosts?.into_iter().filter_map(Instance::from_wire).map(Arc::new).collect();
        Some(Self::new(hosts, info.reach_protection_threshold))
    }

    /// The list as servers write it.
    pub(crate) fn to_wire(&self, key: &ServiceKey) -> grpc::ServiceInfo {
        grpc::ServiceInfo {
            name: Some(key.name().to_owned()),
            group_name: Some(key.group().to_owned()),
            hosts: Some(self.hosts().iter().map(|instance| instance.to_wire()).collect()),
            reach_protection_threshold: self.protected(),
            ..grpc::ServiceInfo::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_nobody_could_call_is_left_out() {
        let host = |ip: Option<&str>, port| grpc::Instance { ip: ip.map(str::to_owned), port, ..Default::default() };
        let hosts =
            vec![host(None, 1), host(Some(" "), 1), host(Some("a"), -1), host(Some("a"), 65_536), host(Some("a"), 0)];
        let list = HostList::from_wire(grpc::ServiceInfo { hosts: Some(hosts), ..Default::default() }).unwrap();
        assert_eq!(list.hosts().iter().map(|i| i.addr()).collect::<Vec<_>>(), ["a:0"]);
        assert!(HostList::from_wire(grpc::ServiceInfo::default()).is_none());
    }

    proptest! {
        #[test]
        fn g13_an_instance_survives_the_wire(ip: std::net::IpAddr, port: u16, weight in 0.0..10_000.0f64, cluster in "[a-z]{0,3}", value: String) {
            let instance = Instance::new((ip, port)).weight(weight).cluster(cluster).metadata("k", value);
            prop_assert_eq!(Instance::from_wire(instance.to_wire()), Some(instance));
        }
    }
}
