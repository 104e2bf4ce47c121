use std::fmt;

use bytes::Bytes;
use serde::ser::{SerializeMap, SerializeSeq, SerializeStruct};
use serde::{Serialize, Serializer};

use super::beat_times::BeatTimes;
use super::instance::{Host, Instance, InstanceId};
use super::service::Kind;
use super::view::View;

const ID_GENERATOR: &str = "preserved.instance.id.generator";

/// How a list names its service: bare over gRPC, with the group over HTTP v1, and over UDP without the group beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameForm {
    Bare,
    Grouped,
    Joined,
}

/// A list on its way to JSON: writes the wire form straight from the compact rows.
#[derive(Debug)]
pub(crate) struct ListJson<'a> {
    pub(crate) group: &'a str,
    pub(crate) name: &'a str,
    pub(crate) form: NameForm,
    pub(crate) view: &'a View,
    pub(crate) clusters: Option<&'a str>,
    pub(crate) healthy_only: bool,
    pub(crate) last_ref_time: i64,
    /// Leave out what is missing, as real servers do, instead of writing it empty.
    pub(crate) omit_missing: bool,
}

impl ListJson<'_> {
    /// A little more than the size of the list with addresses of the usual length, so that it is rarely moved while it grows.
    fn likely_size(&self) -> usize {
        // Each row names the service twice.
        let row = 370 + 2 * (self.group.len() + self.name.len());
        let rows = self.view.listed(self.clusters, self.healthy_only);
        rows.fold(256, |size, instance| {
            let metadata = instance.metadata.iter().map(|(key, value)| key.len() + value.len() + 6);
            size + row + metadata.sum::<usize>()
        })
    }

    pub(crate) fn encode(&self) -> Bytes {
        let mut out = Vec::with_capacity(self.likely_size());
        // Keys are texts and memory takes everything, so there is nothing that could fail.
        let written = serde_json::to_writer(&mut out, self);
        debug_assert!(written.is_ok());
        out.into()
    }
}

impl Serialize for ListJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("ServiceInfo", 11)?;
        match self.form {
            NameForm::Bare => out.serialize_field("name", self.name)?,
            NameForm::Grouped | NameForm::Joined => {
                out.serialize_field("name", &Text(format_args!("{}@@{}", self.group, self.name)))?
            }
        }
        if self.form != NameForm::Joined {
            out.serialize_field("groupName", self.group)?;
        }
        match self.clusters {
            None if self.omit_missing => {}
            clusters => out.serialize_field("clusters", clusters.unwrap_or_default())?,
        }
        out.serialize_field("cacheMillis", &10_000)?;
        let reached = self.view.reaches_threshold(self.clusters, self.healthy_only);
        out.serialize_field("hosts", &Hosts { list: self, healthy: reached })?;
        out.serialize_field("lastRefTime", &self.last_ref_time)?;
        out.serialize_field("checksum", "")?;
        out.serialize_field("allIPs", &false)?;
        out.serialize_field("allIps", &false)?;
        out.serialize_field("reachProtectionThreshold", &reached)?;
        out.serialize_field("valid", &true)?;
        out.end()
    }
}

struct Hosts<'a> {
    list: &'a ListJson<'a>,
    /// Show all as healthy.
    healthy: bool,
}

impl Serialize for Hosts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let list = self.list;
        let mut out = serializer.serialize_seq(None)?;
        for instance in list.view.listed(list.clusters, list.healthy_only) {
            let healthy = instance.healthy || self.healthy;
            let (group, name, kind, omit_missing) = (list.group, list.name, list.view.kind, list.omit_missing);
            out.serialize_element(&InstanceJson { instance, group, name, kind, healthy, omit_missing })?;
        }
        out.end()
    }
}

/// One instance in its wire form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InstanceJson<'a> {
    pub(crate) instance: &'a Instance,
    pub(crate) group: &'a str,
    pub(crate) name: &'a str,
    pub(crate) kind: Kind,
    pub(crate) healthy: bool,
    /// As in [`ListJson`].
    pub(crate) omit_missing: bool,
}

impl Serialize for InstanceJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let instance = self.instance;
        let mut out = serializer.serialize_struct("Instance", 14)?;
        if instance.id != InstanceId::Missing {
            out.serialize_field("instanceId", &Text(self.id()))?;
        }
        match &instance.host {
            Host::Absent if self.omit_missing => {}
            Host::Absent => out.serialize_field("ip", "")?,
            host => out.serialize_field("ip", &Text(host))?,
        }
        out.serialize_field("port", &instance.port)?;
        out.serialize_field("weight", &Weight(instance.weight))?;
        out.serialize_field("healthy", &self.healthy)?;
        out.serialize_field("enabled", &instance.enabled)?;
        out.serialize_field("ephemeral", &(self.kind == Kind::Ephemeral))?;
        out.serialize_field("clusterName", &*instance.cluster)?;
        out.serialize_field("serviceName", &Text(format_args!("{}@@{}", self.group, self.name)))?;
        out.serialize_field("metadata", &Metadata(instance))?;
        let BeatTimes { interval, timeout, removal } = BeatTimes::of(instance);
        out.serialize_field("instanceHeartBeatInterval", &interval)?;
        out.serialize_field("instanceHeartBeatTimeOut", &timeout)?;
        out.serialize_field("ipDeleteTimeout", &removal)?;
        let generator = if instance.metadata.is_empty() { Some("simple") } else { instance.metadata(ID_GENERATOR) };
        if let Some(generator) = generator {
            out.serialize_field("instanceIdGenerator", generator)?;
        }
        out.end()
    }
}

impl<'a> InstanceJson<'a> {
    /// The id the instance is listed with.
    pub(crate) fn id(self) -> InstanceIdText<'a> {
        InstanceIdText(self)
    }
}

/// Writes an instance's id, which mostly is no text of its own.
pub(crate) struct InstanceIdText<'a>(InstanceJson<'a>);

impl fmt::Display for InstanceIdText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InstanceJson { instance, group, name, .. } = self.0;
        let cluster = match &instance.id {
            InstanceId::Missing => return Ok(()),
            InstanceId::Given(text) => return f.write_str(text),
            InstanceId::Derived => &*instance.cluster,
            InstanceId::DerivedNullCluster => "null",
            InstanceId::DerivedEmptyCluster => "",
        };
        write!(f, "{}#{}#{cluster}#{group}@@{name}", instance.host, instance.port)
    }
}

struct Text<T>(T);

impl<T: fmt::Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

struct Metadata<'a>(&'a Instance);

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = &self.0.metadata;
        let mut out = serializer.serialize_map(Some(entries.len()))?;
        for (key, value) in entries {
            out.serialize_entry(key, value)?;
        }
        out.end()
    }
}

struct Weight(f64);

impl Serialize for Weight {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() {
            serializer.serialize_f64(self.0)
        } else if self.0.is_nan() {
            serializer.serialize_str("NaN")
        } else {
            serializer.serialize_str(if self.0 > 0.0 { "Infinity" } else { "-Infinity" })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use nacos_proto::grpc as wire;
    use serde_json::Value;

    use super::super::beat_times::{BEAT_INTERVAL, DELETE_TIMEOUT};
    use super::*;
    use crate::registry::names::Names;
    use crate::registry::view::Rows;

    const GROUP: &str = "G";
    const NAME: &str = "s\"ü";

    fn wire_instance(ip: &str, metadata: &[(&str, &str)]) -> wire::Instance {
        wire::Instance {
            ip: Some(ip.to_owned()),
            port: 8080,
            weight: 0.1,
            healthy: false,
            cluster_name: Some("c1".to_owned()),
            metadata: metadata.iter().copied().collect(),
            ..wire::Instance::default()
        }
    }

    fn instances() -> Vec<wire::Instance> {
        vec![
            wire_instance("10.0.0.1", &[]),
            wire_instance("10.0.0.2", &[("k", "v"), (BEAT_INTERVAL, "1000"), (DELETE_TIMEOUT, "+9")]),
            wire_instance("fe80::1", &[(ID_GENERATOR, "snowflake")]),
            wire_instance("host\\\"name", &[("ü\n", "\u{1}")]),
        ]
    }

    /// The same list, written from the compact rows and by the wire types.
    #[test]
    fn rows_are_written_as_the_wire_types_write_them() {
        let names = Names::default();
        let stored: Vec<Arc<Instance>> = instances()
            .into_iter()
            .map(|one| Arc::new(Instance::from_wire(&names, one, InstanceId::Derived)))
            .collect();
        let view = View::new(stored.iter().map(|one| (1, one)), Rows::NewestClient, Kind::Persistent, 1_700);
        let list = ListJson {
            group: GROUP,
            name: NAME,
            form: NameForm::Bare,
            view: &view,
            clusters: Some("c1,c2"),
            healthy_only: false,
            last_ref_time: 1_700,
            omit_missing: false,
        };
        let expected = wire::ServiceInfo {
            name: Some(NAME.to_owned()),
            group_name: Some(GROUP.to_owned()),
            clusters: Some("c1,c2".to_owned()),
            cache_millis: Some(10_000),
            last_ref_time: 1_700,
            hosts: Some(
                instances()
                    .into_iter()
                    .map(|one| wire::Instance {
                        instance_id: Some(format!("{}#8080#c1#{GROUP}@@{NAME}", one.ip.as_deref().unwrap_or_default())),
                        service_name: Some(format!("{GROUP}@@{NAME}")),
                        ephemeral: false,
                        ..one
                    })
                    .collect(),
            ),
            ..wire::ServiceInfo::default()
        };
        let written: Value = serde_json::from_slice(&list.encode()).expect("JSON");
        assert_eq!(written, serde_json::to_value(&expected).expect("JSON"));
        assert_eq!(wire::ServiceInfo::clone(&serde_json::from_value(written).expect("a list")), expected);
    }

    #[test]
    fn what_is_missing_is_left_out_or_written_empty() {
        let names = Names::default();
        let bare = wire::Instance { weight: f64::NAN, ..wire::Instance::default() };
        let stored = Arc::new(Instance::from_wire(&names, bare, InstanceId::DerivedNullCluster));
        let view = View::new([(1, &stored)].into_iter(), Rows::Distinct, Kind::Ephemeral, 1);
        let encode = |omit_missing| {
            let (form, last_ref_time) = (NameForm::Grouped, 1);
            let list = ListJson {
                group: GROUP,
                name: "s",
                form,
                view: &view,
                clusters: None,
                healthy_only: false,
                last_ref_time,
                omit_missing,
            };
            serde_json::from_slice::<Value>(&list.encode()).expect("JSON")
        };
        let (empty, omitted) = (encode(false), encode(true));
        assert_eq!((&empty["clusters"], &empty["hosts"][0]["ip"]), (&"".into(), &"".into()));
        assert_eq!((omitted.get("clusters"), omitted["hosts"][0].get("ip")), (None, None));
        assert_eq!((&empty["name"], &empty["hosts"][0]["weight"]), (&"G@@s".into(), &"NaN".into()));
        assert_eq!(empty["hosts"][0]["instanceId"], "null#0#null#G@@s");
    }
}
