//! Looking at services and instances.

use nacos_client::{
    Instance, ServiceKey,
    maintain::{MaintainError, ServiceFilter},
};
use nacos_discovery::NearMisses;
use serde_json::{Value, json};

use crate::{
    changed,
    failure::{Done, Failure},
    output::{Output, Row, Tone},
    registry::{Registry, leave},
};

/// Near misses that are told with a service that does not exist.
const TOLD: usize = 3;

/// The list of services.
pub(super) async fn services(registry: &Registry, output: Output, name: Option<&str>) -> Result<Done, Failure> {
    let filter = ServiceFilter::all().name(name.unwrap_or_default());
    let services = registry.operator()?.services(&filter).await?;
    if output.json() {
        let document = |service: &nacos_client::maintain::ServiceSummary| {
            json!({
                "group": service.key.group(),
                "name": service.key.name(),
                "clusters": service.clusters,
                "instances": service.instances,
                "healthy": service.healthy,
                "protected": service.protected,
            })
        };
        output.document(&services.iter().map(document).collect::<Vec<Value>>())?;
        return Ok(Done::Fine);
    }
    let rows = services.iter().map(|service| {
        let tone = match (service.instances, service.healthy) {
            (0, _) => Some(Tone::Faint),
            (_, 0) => Some(Tone::Bad),
            (all, healthy) if healthy < all => Some(Tone::Doubtful),
            _ => None,
        };
        let key = &service.key;
        let counts = [service.clusters, service.instances, service.healthy].map(|count| count.to_string());
        Row::new([key.group().to_owned(), key.name().to_owned()].into_iter().chain(counts)).toned(tone)
    });
    output.table(&["group", "service", "clusters", "instances", "healthy"], rows.collect())?;
    Ok(Done::Fine)
}

/// The instances of a service.
pub(super) async fn instances(registry: &Registry, output: Output, service: &str, all: bool) -> Result<Done, Failure> {
    let key = registry.key(service);
    let instances = if all { registry.operator()?.instances(&key).await? } else { listed(registry, &key).await? };
    if instances.is_empty() && !all {
        explain_nothing(registry, &key).await?;
    }
    if output.json() {
        output.document(&instances.iter().map(changed::document).collect::<Vec<Value>>())?;
        return Ok(Done::Fine);
    }
    let rows = instances.iter().map(|instance| {
        let (state, tone) = changed::state(instance);
        let kind = if instance.ephemeral { "ephemeral" } else { "persistent" };
        let cells = [
            instance.addr(),
            instance.cluster.clone(),
            instance.weight.to_string(),
            state.to_owned(),
            kind.to_owned(),
            changed::metadata(&instance.metadata),
        ];
        Row::new(cells).toned(tone)
    });
    output.table(&["address", "cluster", "weight", "state", "kind", "metadata"], rows.collect())?;
    Ok(Done::Fine)
}

/// What consumers get.
pub(crate) async fn listed(registry: &Registry, key: &ServiceKey) -> Result<Vec<Instance>, Failure> {
    let naming = registry.naming()?;
    let instances = naming.service(key)?.query().await;
    leave(naming).await;
    Ok(instances?.iter().map(|instance| Instance::clone(instance)).collect())
}

/// An empty list is fine for a service that exists, and an error for one that does not. It is looked for in the list: asked for a service that it does not know, r-nacos makes one up.
async fn explain_nothing(registry: &Registry, key: &ServiceKey) -> Result<(), Failure> {
    let operator = registry.operator()?;
    match operator.services(&ServiceFilter::all().group(key.group()).name(key.name())).await {
        Ok(services) if services.iter().all(|service| service.key != *key) => Err(not_found(registry, key).await?),
        // The list is empty in any case; this was only about why.
        _ => Ok(()),
    }
}

/// What to tell about a service that does not exist: what may be meant instead.
async fn not_found(registry: &Registry, key: &ServiceKey) -> Result<Failure, Failure> {
    let mut text =
        format!("no service {} in group {} of namespace {}", key.name(), key.group(), registry.common.namespace);
    for near_miss in near_misses(registry, key).await?.found.iter().take(TOLD) {
        text.push_str(&format!("; {}", near_miss.seen()));
    }
    Ok(Failure::NotFound(text))
}

/// What may be meant instead of a service.
pub(crate) async fn near_misses(registry: &Registry, key: &ServiceKey) -> Result<NearMisses, Failure> {
    let naming = registry.naming()?;
    let misses = NearMisses::search(&naming, key).await;
    leave(naming).await;
    Ok(misses)
}

/// A service as a whole.
pub(super) async fn service(registry: &Registry, output: Output, service: &str) -> Result<Done, Failure> {
    let operator = registry.operator()?;
    let key = registry.key(service);
    let detail = match operator.service(&key).await {
        Err(MaintainError::NotFound { .. }) => {
            return Err(not_found(registry, &key).await?);
        }
        other => other?,
    };
    let subscribers = operator.subscribers(&key).await?;
    if output.json() {
        let subscriber = |one: &nacos_client::maintain::Subscriber| json!({ "address": one.addr, "agent": one.agent, "app": one.app });
        output.document(&json!({
            "group": key.group(),
            "name": key.name(),
            "protectThreshold": detail.protect_threshold,
            "metadata": detail.metadata,
            "selector": detail.selector,
            "clusters": detail.clusters,
            "ephemeral": detail.ephemeral,
            "subscribers": subscribers.iter().map(subscriber).collect::<Vec<Value>>(),
        }))?;
        return Ok(Done::Fine);
    }
    output.line(&format!("service     {}", key.name()))?;
    output.line(&format!("group       {}", key.group()))?;
    output.line(&format!("protection  {}", detail.protect_threshold))?;
    output.line(&format!("clusters    {}", detail.clusters.join(", ")))?;
    if !detail.metadata.is_empty() {
        output.line(&format!("metadata    {}", changed::metadata(&detail.metadata)))?;
    }
    if let Some(selector) = &detail.selector {
        output.line(&format!("selector    {selector}"))?;
    }
    output.line(&format!("subscribers {}", subscribers.len()))?;
    if !subscribers.is_empty() {
        output.line("")?;
        let rows = subscribers.iter().map(|one| Row::new([one.addr.clone(), one.agent.clone(), one.app.clone()]));
        output.table(&["subscriber", "client", "application"], rows.collect())?;
    }
    Ok(Done::Fine)
}
