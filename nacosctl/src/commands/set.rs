//! Changing instances and services.

use std::collections::BTreeMap;

use nacos_client::maintain::{InstanceChange, MaintainError, ServiceSettings};
use serde_json::json;

use super::take_part::{elsewhere, instance_key};
use crate::{
    cli::{Service, Set, Target},
    failure::{Done, Failure},
    output::Output,
    registry::Registry,
};

/// Changes one field.
pub(super) async fn set(registry: &Registry, output: Output, set: Set) -> Result<Done, Failure> {
    let change = InstanceChange::default();
    match set {
        Set::Weight { target, weight } => {
            apply(registry, &target, &change.weight(weight)).await?;
            output.say(
                &json!({ "event": "changed", "address": target.address, "weight": weight }),
                &format!("{}: weight {weight}", target.address),
            )?;
        }
        Set::Enabled { target, enabled } => {
            apply(registry, &target, &change.enabled(enabled)).await?;
            output.say(
                &json!({ "event": "changed", "address": target.address, "enabled": enabled }),
                &format!("{}: enabled {enabled}", target.address),
            )?;
        }
        Set::Metadata { target, entries } => {
            let entries: BTreeMap<String, String> = entries.into_iter().collect();
            apply(registry, &target, &change.metadata(entries.clone())).await?;
            let text = format!("{}: metadata {}", target.address, crate::changed::metadata(&entries));
            output.say(&json!({ "event": "changed", "address": target.address, "metadata": entries }), &text)?;
        }
        Set::Protection { service, threshold } => {
            registry.operator()?.set_protect_threshold(registry.key(&service), threshold).await?;
            let document = json!({ "event": "changed", "service": service, "protectThreshold": threshold });
            output.say(&document, &format!("{service}: protection threshold {threshold}"))?;
        }
    }
    Ok(Done::Fine)
}

async fn apply(registry: &Registry, target: &Target, change: &InstanceChange) -> Result<(), Failure> {
    let (operator, key, wanted) = (registry.operator()?, registry.key(&target.service), instance_key(target)?);
    match operator.update_instance(&key, &wanted, change).await {
        Err(error @ MaintainError::NotFound { .. }) => {
            Err(elsewhere(&operator, &key, &wanted).await.unwrap_or_else(|| error.into()))
        }
        done => Ok(done?),
    }
}

/// Takes an instance out of traffic.
pub(super) async fn drain(registry: &Registry, output: Output, target: &Target) -> Result<Done, Failure> {
    let (key, wanted) = (registry.key(&target.service), instance_key(target)?);
    apply(registry, target, &InstanceChange::default().enabled(false)).await?;
    let instances = registry.operator()?.instances(&key).await?;
    let left = instances.iter().filter(|one| !wanted.is(one) && one.is_pickable()).count();
    let back = format!("`nacosctl set enabled {} true` brings it back", target.arguments());
    let text = match left {
        0 => format!("drained {wanted}; NO other instance takes traffic; {back}"),
        left => format!("drained {wanted}; instances that take traffic: {left}; {back}"),
    };
    output.say(&json!({ "event": "drained", "address": target.address, "left": left }), &text)?;
    Ok(Done::Fine)
}

/// Creates or removes a service.
pub(super) async fn service(registry: &Registry, output: Output, command: Service) -> Result<Done, Failure> {
    let operator = registry.operator()?;
    match command {
        Service::Create { service, protection, metadata } => {
            let mut settings = ServiceSettings::default().protect_threshold(protection);
            settings.metadata = metadata.into_iter().collect();
            operator.create_service(registry.key(&service), &settings).await?;
            output.say(&json!({ "event": "created", "service": service }), &format!("created service {service}"))?;
        }
        Service::Delete { service } => {
            operator.delete_service(registry.key(&service)).await?;
            output.say(&json!({ "event": "deleted", "service": service }), &format!("deleted service {service}"))?;
        }
    }
    Ok(Done::Fine)
}
