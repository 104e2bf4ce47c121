//! Why a service has no instances: it is looked for in the whole registry.

use nacos_client::{Instance, ServiceKey};
use nacos_discovery::{NearMiss, NearMisses};

use super::check::Check;
use crate::{
    changed,
    commands::{listed, near_misses},
    failure::Failure,
    registry::Registry,
};

/// Looks at a service that should have instances.
pub(super) async fn service(registry: &Registry, service: &str) -> Result<Vec<Check>, Failure> {
    let key = registry.key(service);
    let seen = match listed(registry, &key).await {
        Ok(seen) => seen,
        Err(failure) => return Ok(vec![Check::failed("service", failure.to_string(), "see the checks above")]),
    };
    if !seen.is_empty() {
        return Ok(vec![judged(&key, &seen)]);
    }
    let name = format!("{} in group {}, namespace {}", key.name(), key.group(), registry.common.namespace);
    Ok(missed(&name, &near_misses(registry, &key).await?))
}

/// Nothing is listed: what is hidden, and what is elsewhere.
fn missed(name: &str, misses: &NearMisses) -> Vec<Check> {
    let hidden = |near_miss: &&NearMiss| matches!(near_miss, NearMiss::Disabled { .. } | NearMiss::NotListed { .. });
    // Of the namespace there is a check already.
    let told = |near_miss: &&NearMiss| {
        matches!(near_miss, NearMiss::NamespaceName { .. } | NearMiss::UndeclaredNamespace { .. })
    };
    let mut checks: Vec<Check> = misses
        .found
        .iter()
        .filter(hidden)
        .map(|hidden| {
            Check::failed("service", format!("{name}: consumers get nothing; {}", hidden.seen()), hidden.remedy())
        })
        .collect();
    if checks.is_empty() {
        let remedy = "start a provider, or look where it registers: see below";
        checks.push(Check::failed("service", format!("{name}: no instances"), remedy));
    }
    let mut elsewhere: Vec<Check> = misses
        .found
        .iter()
        .filter(|near_miss| !hidden(near_miss) && !told(near_miss))
        .map(|near_miss| Check::warning("elsewhere", near_miss.seen(), remedy(near_miss)))
        .collect();
    if elsewhere.is_empty() {
        let seen = match misses.unseen.len() {
            0 => "no group or namespace has a service of this name or one like it",
            _ => "there is no service of this name or one like it where it could be looked for",
        };
        elsewhere.push(Check::warning("elsewhere", seen, "is the provider running, does it use the same registry?"));
    }
    checks.extend(elsewhere);
    checks.extend(misses.unseen.iter().map(|unseen| Check::skipped("elsewhere", unseen)));
    checks
}

/// What to do, also with this tool.
fn remedy(near_miss: &NearMiss) -> String {
    let text = near_miss.remedy();
    match near_miss {
        NearMiss::OtherGroup { group, .. } => format!("{text}; look with --group {group}"),
        NearMiss::OtherNamespace { namespace, group, .. } => {
            format!("{text}; look with --namespace {namespace} --group {group}")
        }
        _ => text,
    }
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
