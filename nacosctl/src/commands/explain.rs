//! A consumer's view of a service.

use std::sync::Arc;

use nacos_client::NamingService;
use nacos_discovery::route::RequestHead;
use nacos_discovery::{BalanceSettings, Directory, ExplainedInstance, Explanation, Ports, ServiceSettings, Standing};

use crate::{
    cli::Explain,
    failure::{Done, Failure},
    output::{Output, Tone},
    registry::{Registry, leave},
};

/// Tells where a consumer's requests would go.
pub(super) async fn explain(registry: &Registry, output: Output, consumer: &Explain) -> Result<Done, Failure> {
    let naming = registry.naming()?;
    let explanation = explained(registry, &naming, consumer).await;
    leave(naming).await;
    let explanation = explanation?;
    if output.json() {
        output.document(&explanation)?;
    } else {
        show(output, &explanation)?;
    }
    Ok(if explanation.takes_requests() { Done::Fine } else { Done::Found })
}

async fn explained(registry: &Registry, naming: &NamingService, consumer: &Explain) -> Result<Explanation, Failure> {
    let key = registry.key(&consumer.service);
    let (rules, request) = (consumer.request.rules()?, consumer.request.request()?);
    // A wrong address or a refusal is said, rather than explained.
    naming.service(&key)?.query().await?;
    let mut balance = BalanceSettings::new(settings(consumer)).with_group(registry.group());
    if let Some(rules) = rules {
        balance = balance.with_routes(rules).map_err(|error| Failure::Usage(error.to_string()))?;
    }
    let directory = Directory::new(Arc::new(naming.clone()), balance);
    Ok(directory.explain_request_by_asking(naming, &key, RequestHead::from(&request)).await)
}

fn settings(consumer: &Explain) -> ServiceSettings {
    let mut settings = ServiceSettings::default().with_address_family(consumer.family.into());
    if let Some(cluster) = &consumer.cluster {
        settings = settings.with_own_cluster(cluster);
    }
    if let Some(zone) = &consumer.zone {
        settings = settings.with_zone(zone);
    }
    if let Some(key) = &consumer.port_key {
        settings = settings.with_ports(Ports::metadata(key));
    }
    settings
}

/// No line is wider than it must be: what belongs to an instance or a near miss is below it.
fn show(output: Output, explanation: &Explanation) -> Result<(), Failure> {
    let name = explanation.namespace.as_ref().map_or_else(
        || explanation.service.clone(),
        |namespace| format!("{} in namespace {namespace}", explanation.service),
    );
    let (tone, verdict) = match &explanation.no_instance {
        Some(reason) => (Tone::Bad, format!("nobody takes requests: {reason}")),
        None => {
            let (serving, all) = (explanation.serving().count(), explanation.instances.len());
            (Tone::Good, format!("{serving} of {all} take requests"))
        }
    };
    output.toned(&[(None, &name), (None, ": "), (Some(tone), &verdict)])?;
    output.toned(&[(Some(Tone::Faint), "seen from  "), (None, &explanation.viewpoint.to_string())])?;
    if let Some(list) = &explanation.list {
        output.toned(&[(Some(Tone::Faint), "list       "), (None, &list.to_string())])?;
    }
    if let Some(route) = &explanation.route {
        output.toned(&[(Some(Tone::Faint), "routed     "), (None, &route.to_string())])?;
    }
    if !explanation.instances.is_empty() {
        output.line("")?;
    }
    let (serving, others): (Vec<_>, Vec<_>) =
        explanation.instances.iter().partition(|instance| instance.standing == Standing::Serving);
    serving.into_iter().chain(others).try_for_each(|instance| tell(output, instance))?;
    for near_miss in &explanation.near_misses {
        output.line("")?;
        output.toned(&[(Some(Tone::Doubtful), "→ "), (None, &near_miss.seen())])?;
        output.line(&format!("  {}", near_miss.remedy()))?;
    }
    for unseen in &explanation.unseen {
        output.line("")?;
        output.toned(&[(Some(Tone::Faint), "? not looked at: "), (None, unseen)])?;
    }
    Ok(())
}

fn tell(output: Output, instance: &ExplainedInstance) -> Result<(), Failure> {
    let (tone, share) = match instance.standing {
        Standing::Serving => (Tone::Good, format!("{:>5.1} %", instance.share)),
        Standing::InReserve => (Tone::Doubtful, format!("{:>7}", "reserve")),
        Standing::Ejected => (Tone::Bad, format!("{:>7}", "ejected")),
        _ => (Tone::Faint, format!("{:>7}", "-")),
    };
    let text = format!("  {}  {}", instance.address, instance.details());
    output.toned(&[(Some(tone), &share), (None, &text)])?;
    match &instance.reason {
        Some(reason) => output.line(&format!("{:9}{reason}", "")),
        None => Ok(()),
    }
}
