use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use nacos_proto::grpc::Instance as WireInstance;
use nacos_proto::param;
use serde::{Serialize, Serializer};

use super::beats::usual_interval;
use super::error::OpError;
use super::keys::{InstanceKey, ServiceKey};
use crate::context::{Context, ListRequest};
use crate::health::By;
use crate::instance_id;
use crate::registry::{
    AdminError, HealthChecker, Instance, InstanceId, InstanceJson, Kind, NameForm, Override, Service, View,
};

const ID_GENERATOR: &str = "preserved.instance.id.generator";

/// Whether a registration gives its instance an id, which depends on the way it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdRule {
    Generated,
    None,
}

/// Registers an instance, or replaces what is registered for its address. `instance` has passed the parameter filter.
pub(crate) fn register(
    context: &Context,
    key: &ServiceKey,
    kind: Kind,
    instance: WireInstance,
    id: IdRule,
) -> Result<(), OpError> {
    register_by(context, key, kind, instance, id, By::Registration)
}

pub(super) fn register_by(
    context: &Context,
    key: &ServiceKey,
    kind: Kind,
    instance: WireInstance,
    id: IdRule,
    by: By,
) -> Result<(), OpError> {
    param::beat_times(&instance)?;
    param::registering_cluster(instance.cluster_name.as_deref().unwrap_or_default())?;
    let id = match id {
        IdRule::None => InstanceId::Missing,
        IdRule::Generated => {
            let generator = instance.metadata.get(ID_GENERATOR).map(String::as_str);
            if !matches!(generator, None | Some("simple" | "snowflake")) {
                return Err(OpError::IdGenerator);
            }
            instance_id::of(&instance, key.as_ref(), || context.snowflake())
        }
    };
    let stored = Instance::from_wire(&context.registry.names, instance, id);
    match kind {
        Kind::Ephemeral => {
            context.beats.register(&context.registry, key.as_ref(), stored, by, context.clock.ticks())?
        }
        Kind::Persistent => {
            context.note_memory_only_persistence();
            context.registry.publish_internal(key.as_ref(), kind, stored)?;
        }
    }
    Ok(())
}

/// Removes what was registered for the address, whatever its cluster; nothing to remove is fine.
pub(crate) fn deregister(context: &Context, key: &ServiceKey, kind: Kind, ip: &str, port: u16) {
    let Context { registry, beats, clock, .. } = context;
    match kind {
        Kind::Ephemeral => {
            beats.deregister(registry, key.as_ref(), (ip, port), usual_interval(context), clock.ticks());
        }
        Kind::Persistent => {
            registry.withdraw_internal(key.as_ref(), kind, Some(ip), port, clock.seconds());
        }
    }
}

/// Overrides what the registrant said, wholly; the instance itself need not be there.
pub(crate) fn update(
    context: &Context,
    key: &ServiceKey,
    instance: &InstanceKey,
    over: Override,
) -> Result<(), OpError> {
    Ok(context.registry.set_override(key.as_ref(), instance.row(), |known| *known = over)?)
}

/// What is to change of an instance; the rest stays as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct InstancePatch {
    pub(crate) weight: Option<f64>,
    pub(crate) enabled: Option<bool>,
    /// In place of what was overridden so far; still merged over what is registered.
    pub(crate) metadata: Option<BTreeMap<String, String>>,
}

/// Overrides a part of what the registrant said. The instance must be there.
pub(crate) fn patch(
    context: &Context,
    key: &ServiceKey,
    instance: &InstanceKey,
    patch: InstancePatch,
) -> Result<(), OpError> {
    find(context, key, instance)?;
    context.registry.set_override(key.as_ref(), instance.row(), |known| {
        known.weight = patch.weight.or(known.weight);
        known.enabled = patch.enabled.or(known.enabled);
        if let Some(metadata) = patch.metadata {
            known.metadata = metadata;
        }
    })?;
    Ok(())
}

/// What to do with the metadata of several instances. Only overrides change; what a registrant said stays beneath.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MetadataChange {
    Set(BTreeMap<String, String>),
    Remove(Vec<String>),
}

/// Changes the metadata of the instances of a service that `wanted` names, or of all; returns those changed.
pub(crate) fn batch_metadata(
    context: &Context,
    key: &ServiceKey,
    wanted: Option<&[InstanceKey]>,
    change: &MetadataChange,
) -> Vec<Shown> {
    let mut changed = rows(context, key);
    let is_wanted = |shown: &Shown| wanted.is_none_or(|all| all.iter().any(|one| one.row() == shown.instance.row()));
    changed.retain(is_wanted);
    changed.retain(|shown| {
        let done = context.registry.set_override(key.as_ref(), shown.instance.row(), |known| match change {
            MetadataChange::Set(entries) => known.metadata.extend(entries.clone()),
            MetadataChange::Remove(keys) => keys.iter().for_each(|key| drop(known.metadata.remove(key))),
        });
        // The service may have gone meanwhile.
        done != Err(AdminError::NotFound)
    });
    changed
}

/// Says whether a persistent instance is healthy. Only where the server does not look for itself; an unknown instance is fine.
pub(crate) fn set_health(
    context: &Context,
    key: &ServiceKey,
    instance: &InstanceKey,
    healthy: bool,
) -> Result<(), OpError> {
    let service = context.registry.find(key.as_ref());
    let described = service.as_deref().and_then(|service| context.registry.describe(service));
    let cluster = described.and_then(|described| described.clusters.get(instance.cluster.as_str()).cloned());
    match cluster {
        Some(cluster) if cluster.checker == HealthChecker::None => {
            context.registry.set_health(key.as_ref(), instance.row(), healthy);
            Ok(())
        }
        _ => Err(OpError::CheckerWorking),
    }
}

/// The service's list as subscribers get it. Real servers write an unknown service's list too: an empty one.
pub(crate) fn list(context: &Context, key: &ServiceKey, clusters: &str, healthy_only: bool, form: NameForm) -> Bytes {
    let request = ListRequest { group: &key.group, name: &key.name, form, clusters: Some(clusters), healthy_only };
    context.answer_list(context.registry.find(key.as_ref()).as_ref(), request)
}

/// One instance as lists show it, the overrides applied; disabled ones too, and never made healthy by a threshold.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) service: Arc<Service>,
    pub(crate) instance: Arc<Instance>,
    pub(crate) kind: Kind,
}

impl Shown {
    fn json(&self) -> InstanceJson<'_> {
        let Self { service, instance, kind } = self;
        let healthy = instance.healthy;
        InstanceJson { instance, group: &service.group, name: &service.name, kind: *kind, healthy, omit_missing: false }
    }

    /// `None` for an instance that was registered without an id.
    pub(crate) fn id(&self) -> Option<String> {
        (self.instance.id != InstanceId::Missing).then(|| self.json().id().to_string())
    }

    /// The metadata as a map.
    pub(crate) fn metadata(&self) -> BTreeMap<&str, &str> {
        self.instance.metadata.iter().map(|(key, value)| (&**key, &**value)).collect()
    }
}

/// The form in which lists hold it.
impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().serialize(serializer)
    }
}

/// The instance, or `ServiceNotFound` for a service that has none at all.
pub(crate) fn find(context: &Context, key: &ServiceKey, instance: &InstanceKey) -> Result<Shown, OpError> {
    let all = rows(context, key);
    if all.is_empty() {
        return Err(OpError::ServiceNotFound);
    }
    all.into_iter().find(|shown| shown.instance.row() == instance.row()).ok_or(OpError::InstanceNotFound)
}

/// All instances of a service; none for an unknown one.
pub(crate) fn rows(context: &Context, key: &ServiceKey) -> Vec<Shown> {
    context.registry.find(key.as_ref()).map_or_else(Vec::new, |service| rows_of(context, &service))
}

pub(super) fn rows_of(context: &Context, service: &Arc<Service>) -> Vec<Shown> {
    let view = view(context, service);
    let shown = |instance: &Arc<Instance>| {
        let (service, instance) = (Arc::clone(service), Arc::clone(instance));
        Shown { service, instance, kind: view.kind }
    };
    view.rows().iter().map(shown).collect()
}

pub(super) fn view(context: &Context, service: &Arc<Service>) -> Arc<View> {
    context.registry.view(service, context.clock.wall_ms())
}
