use nacos_proto::grpc::Instance as WireInstance;
use nacos_proto::param;

use super::asked::{Asked, Outcome, ok, refuse};
use super::{instance, refusal};
use crate::api::http::reply::Refusal;
use crate::context::Context;
use crate::ops::{self, IdRule, InstanceKey, InstancePatch, OpError, ServiceKey};
use crate::registry::{Kind, Override};

/// Under which names a write takes its cluster.
const CLUSTER: [&str; 2] = ["clusterName", "cluster"];

/// `POST /v1/ns/instance`
pub(super) fn register(context: &Context, asked: &Asked) -> Outcome {
    let (service, wire, kind) = read(context, asked)?;
    ops::register(context, &service, kind, wire, IdRule::Generated)
        .map_err(|error| refusal::of(&error, &service, kind))?;
    ok()
}

/// `DELETE /v1/ns/instance`: the cluster does not matter, and nothing to remove is a success too.
pub(super) fn deregister(context: &Context, asked: &Asked) -> Outcome {
    let (service, wire, kind) = read(context, asked)?;
    let port = u16::try_from(wire.port).unwrap_or_default();
    ops::deregister(context, &service, kind, wire.ip.as_deref().unwrap_or_default(), port);
    ok()
}

/// `PUT /v1/ns/instance`: absent parameters have the defaults of a registration.
pub(super) fn update(context: &Context, asked: &Asked) -> Outcome {
    let (service, wire, kind) = read(context, asked)?;
    let (port, cluster) = (u16::try_from(wire.port).unwrap_or_default(), wire.cluster_name.unwrap_or_default());
    let key = InstanceKey::new(wire.ip.as_deref().unwrap_or_default(), port, &cluster);
    let metadata = wire.metadata.into_entries();
    let over = Override { weight: Some(wire.weight), enabled: Some(wire.enabled), metadata };
    ops::update(context, &service, &key, over).map_err(|error| match error {
        OpError::ServiceNotFound => unknown_service(&service, kind),
        other => refusal::of(&other, &service, kind),
    })?;
    ok()
}

fn unknown_service(service: &ServiceKey, kind: Kind) -> Refusal {
    let ServiceKey { namespace, group, name } = service;
    let ephemeral = kind == Kind::Ephemeral;
    refuse(format!(
        "service not found, namespace: {namespace}, service: Service{{namespace='{namespace}', group='{group}', \
         name='{name}', ephemeral={ephemeral}, revision=0}}"
    ))
}

/// `PATCH /v1/ns/instance`: what is absent stays.
pub(super) fn patch(context: &Context, asked: &Asked) -> Outcome {
    let (service, key) = (asked.service()?, asked.instance(&CLUSTER)?);
    let metadata = asked.get("metadata").map(|_| asked.metadata(context)).transpose()?;
    let weight = checked_weight(asked)?;
    let patch = InstancePatch { weight, enabled: asked.boolean(&["enabled"]), metadata };
    ops::patch(context, &service, &key, patch).map_err(|error| instance::not_found(&error, &service, &key))?;
    ok()
}

fn checked_weight(asked: &Asked) -> Result<Option<f64>, Refusal> {
    let weight = asked.double("weight")?;
    param::weight(weight.unwrap_or(1.0)).map_err(|error| refuse(error.to_string()))?;
    Ok(weight)
}

/// The service, the instance and the kind that the parameters describe, checked.
fn read(context: &Context, asked: &Asked) -> Result<(ServiceKey, WireInstance, Kind), Refusal> {
    let service = asked.service()?;
    let (ip, port) = asked.address()?;
    let cluster = asked.cluster(&CLUSTER)?;
    let metadata = asked.metadata(context)?;
    let weight = checked_weight(asked)?.unwrap_or(1.0);
    let ephemeral = asked.boolean(&["ephemeral"]).unwrap_or_else(|| context.switches().default_instance_ephemeral);
    let wire = WireInstance {
        ip: Some(ip.to_owned()),
        port: i32::from(port),
        weight,
        healthy: asked.boolean(&["healthy"]).unwrap_or(true),
        enabled: asked.boolean(&["enabled", "enable"]).unwrap_or(true),
        ephemeral,
        cluster_name: Some(cluster.to_owned()),
        metadata: metadata.into(),
        ..WireInstance::default()
    };
    Ok((service, wire, if ephemeral { Kind::Ephemeral } else { Kind::Persistent }))
}
