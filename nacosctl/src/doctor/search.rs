//! Why a service has no instances: it is looked for in the whole registry.

use nacos_client::{
    Instance, Namespace, ServiceKey,
    maintain::{Maintain, MaintainError, ServiceFilter, ServiceSummary},
};

use super::check::Check;
use crate::{
    changed,
    commands::{listed, most_alike},
    failure::{Failure, described},
    registry::Registry,
};

/// Looks at a service that should have instances.
pub(super) async fn service(registry: &Registry, service: &str) -> Result<Vec<Check>, Failure> {
    let key = registry.key(service);
    let seen = match listed(registry, &key).await {
        Ok(seen) => seen,
        Err(failure) => return Ok(vec![Check::failed("service", failure.to_string(), "see the checks above")]),
    };
    let operator = registry.operator()?;
    if !seen.is_empty() {
        return Ok(vec![judged(&key, &seen)]);
    }
    let name = format!("{} in group {}, namespace {}", key.name(), key.group(), registry.common.namespace);
    let mut checks = vec![match hidden(&operator, &key).await {
        Some(hidden) => Check::failed(
            "service",
            format!("{name}: consumers get nothing; {hidden}"),
            "enable some: `nacosctl set enabled`",
        ),
        None => Check::failed(
            "service",
            format!("{name}: no instances"),
            "start a provider, or look where it registers: see below",
        ),
    }];
    let found = elsewhere(registry, &operator, &key).await?;
    if found.is_empty() {
        let like = most_alike(&operator, &key).await.map_or_else(
            || "is the provider running, does it use the same registry?".to_owned(),
            |like| format!("is {} in group {} meant?", like.name(), like.group()),
        );
        checks.push(Check::warning(
            "elsewhere",
            format!("no group or namespace has a service {} with instances", key.name()),
            like,
        ));
    }
    checks.extend(found);
    Ok(checks)
}

/// A list with instances: whether any takes traffic.
fn judged(key: &ServiceKey, seen: &[Instance]) -> Check {
    let usable = seen.iter().filter(|instance| instance.is_pickable()).count();
    let mut clusters: Vec<&str> = seen.iter().map(|instance| instance.cluster.as_str()).collect();
    clusters.sort_unstable();
    clusters.dedup();
    let text =
        format!("{}: {} instances, {usable} take traffic, clusters {}", key.name(), seen.len(), clusters.join(", "));
    if usable > 0 {
        return Check::ok("service", text);
    }
    let states: Vec<String> =
        seen.iter().take(5).map(|instance| format!("{} {}", instance.addr(), changed::state(instance).0)).collect();
    Check::failed(
        "service",
        format!("{text}: {}", states.join(", ")),
        "unhealthy ones do not beat or answer the server's checks; a weight of 0 keeps traffic away",
    )
}

/// Instances that only operators see.
async fn hidden(operator: &Maintain, key: &ServiceKey) -> Option<String> {
    let instances = operator.instances(key).await.ok().filter(|instances| !instances.is_empty())?;
    let shown: Vec<String> = instances
        .iter()
        .take(5)
        .map(|instance| format!("{} is {}", instance.addr(), changed::state(instance).0))
        .collect();
    Some(shown.join(", "))
}

/// Services of the same name in other groups and namespaces.
async fn elsewhere(registry: &Registry, operator: &Maintain, key: &ServiceKey) -> Result<Vec<Check>, Failure> {
    let own = Namespace::new(&registry.common.namespace);
    let mut namespaces = vec![own.clone()];
    // Without them there is still the own one; that they are not told is a check of its own.
    namespaces
        .extend(operator.namespaces().await.unwrap_or_default().into_iter().map(|one| one.id).filter(|id| *id != own));
    let mut found = Vec::new();
    for namespace in namespaces {
        // All of them: asked for a name, servers leave out those written in other letters.
        let services = match registry.within(namespace.as_str()).operator()?.services(&ServiceFilter::all()).await {
            Ok(services) => services,
            Err(MaintainError::NotFound { .. }) => continue,
            Err(error) => {
                found.push(Check::skipped("elsewhere", format!("namespace {namespace}: {}", described(&error))));
                continue;
            }
        };
        let same = |service: &&ServiceSummary| {
            service.key.name().eq_ignore_ascii_case(key.name())
                && service.instances > 0
                && !(namespace == own && service.key == *key)
        };
        for service in services.iter().filter(same) {
            let seen = format!(
                "namespace {namespace}, group {}: {} has {} instances, {} healthy",
                service.key.group(),
                service.key.name(),
                service.instances,
                service.healthy,
            );
            let remedy = format!(
                "do provider and consumer name the same namespace and group? Look with --namespace {namespace} --group {} ({})",
                service.key.group(),
                service.key.name(),
            );
            found.push(Check::warning("elsewhere", seen, remedy));
        }
    }
    Ok(found)
}
