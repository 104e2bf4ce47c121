//! Registering and deregistering instances.

use std::time::Duration;

use nacos_client::{
    Instance, InstanceAddr, InstanceKey, ServiceKey,
    maintain::{Maintain, MaintainError},
};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::{
    changed,
    cli::{Register, Target},
    failure::{Done, Failure},
    output::Output,
    registry::{Registry, leave},
    stop,
};

/// How often it is looked whether an instance has gone.
const PACE: Duration = Duration::from_millis(200);
/// Real servers show a removal after half a second; less than this is no answer.
const LEAST_PATIENCE: Duration = Duration::from_secs(3);

/// Registers an instance and keeps it.
pub(super) async fn register(registry: &Registry, output: Output, register: Register) -> Result<Done, Failure> {
    let Register { target, weight, metadata, persistent, duration } = register;
    let mut instance = Instance::parse(&target.address)?.cluster(&target.cluster).weight(weight);
    instance.metadata = metadata.into_iter().collect();
    if persistent {
        instance = instance.persistent();
    }
    let naming = registry.naming()?;
    let document = changed::document(&instance);
    let registration = naming.service(registry.key(&target.service))?.register(instance)?;
    registration.confirmed().await?;
    // Whoever reads that it is registered may end it.
    let stop = stop::asked()?;
    let how = match (persistent, duration) {
        (true, _) => "until it is deregistered".to_owned(),
        (false, None) => "until Ctrl-C".to_owned(),
        (false, Some(duration)) => format!("for {}", humantime::format_duration(duration)),
    };
    let text = format!("registered {}; it stays {how}", target.address);
    output.say(&json!({ "event": "registered", "instance": document }), &text)?;
    if persistent {
        registration.keep();
    } else {
        let end = async {
            match duration {
                Some(duration) => sleep(duration).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stop => {}
            () = end => {}
        }
        registration.withdraw().await?;
        output.say(
            &json!({ "event": "deregistered", "instance": document }),
            &format!("deregistered {}", target.address),
        )?;
    }
    leave(naming).await;
    Ok(Done::Fine)
}

/// The key of an instance on the command line.
pub(super) fn instance_key(target: &Target) -> Result<InstanceKey, Failure> {
    Ok(InstanceKey::new(target.address.parse::<InstanceAddr>()?, &target.cluster))
}

/// The instance as operators see it.
pub(super) async fn find(
    operator: &Maintain,
    key: &ServiceKey,
    wanted: &InstanceKey,
) -> Result<Option<Instance>, Failure> {
    match operator.instances(key).await {
        Ok(instances) => Ok(instances.into_iter().find(|instance| wanted.is(instance))),
        // With its last instance a service may go, too.
        Err(MaintainError::NotFound { .. }) => Ok(None),
        Err(other) => Err(other.into()),
    }
}

/// Where an instance is not found, but is one of the same address in another cluster: which one.
pub(super) async fn elsewhere(operator: &Maintain, key: &ServiceKey, wanted: &InstanceKey) -> Option<Failure> {
    let instances = operator.instances(key).await.ok()?;
    let there = instances.iter().map(Instance::key).find(|one| (&one.ip, one.port) == (&wanted.ip, wanted.port))?;
    (there.cluster != wanted.cluster).then(|| {
        let InstanceKey { ip, port, cluster, .. } = there;
        Failure::NotFound(format!("{ip}:{port} of {} is in cluster {cluster}: say `--cluster {cluster}`", key.name()))
    })
}

/// Removes an instance, and looks whether it is gone: servers say yes in any case.
pub(super) async fn deregister(registry: &Registry, output: Output, target: &Target) -> Result<Done, Failure> {
    let (operator, key, wanted) = (registry.operator()?, registry.key(&target.service), instance_key(target)?);
    let Some(instance) = find(&operator, &key, &wanted).await? else {
        let unknown = || Failure::NotFound(format!("no instance {wanted} of {} in group {}", key.name(), key.group()));
        return Err(elsewhere(&operator, &key, &wanted).await.unwrap_or_else(unknown));
    };
    operator.deregister(&key, &instance).await?;
    let end = Instant::now() + registry.timeout().max(LEAST_PATIENCE);
    while find(&operator, &key, &wanted).await?.is_some() {
        if Instant::now() >= end {
            return Err(Failure::Refused(format!(
                "{wanted} is still there: its own client keeps it registered. Stop that client, or take it out of traffic with `nacosctl drain {}`",
                target.arguments(),
            )));
        }
        sleep(PACE).await;
    }
    let after =
        if instance.ephemeral { "; if its client still runs over HTTP, its next beat brings it back" } else { "" };
    let document = json!({ "event": "deregistered", "instance": changed::document(&instance) });
    output.say(&document, &format!("deregistered {wanted}{after}"))?;
    Ok(Done::Fine)
}
