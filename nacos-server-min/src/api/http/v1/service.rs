use serde_json::{Value, json};

use super::asked::{Asked, Outcome, not_a_number, ok, refuse};
use super::refusal;
use crate::api::http::reply::{self, Refusal};
use crate::api::http::values::{self, Broken, SelectorError};
use crate::context::Context;
use crate::ops::{self, OpError};
use crate::registry::{ClusterMetadata, Kind, Selector, ServiceMetadata};

/// `POST /v1/ns/service`: the service is persistent.
pub(super) fn create(context: &Context, asked: &Asked) -> Outcome {
    let service = asked.service_present()?;
    let entries = asked.metadata(context)?;
    let threshold = match asked.get("protectThreshold") {
        None => 0.0,
        Some(text) => float(text).ok_or_else(|| reply::text(500, format!("caused: For input string: \"{text}\";")))?,
    };
    let metadata = ServiceMetadata { threshold, entries, selector: selector(asked)? };
    ops::create(context, &service, Kind::Persistent, metadata)
        .map_err(|error| refusal::of(&error, &service, Kind::Persistent))?;
    ok()
}

/// `PUT /v1/ns/service`: absent metadata are none.
pub(super) fn update(context: &Context, asked: &Asked) -> Outcome {
    let service = asked.service()?;
    let entries = asked.metadata(context)?;
    let threshold = asked.required("protectThreshold")?;
    let threshold = float(threshold).ok_or_else(|| not_a_number(threshold))?;
    let metadata = ServiceMetadata { threshold, entries, selector: selector(asked)? };
    ops::set_metadata(context, &service, metadata).map_err(|error| refusal::of(&error, &service, Kind::Persistent))?;
    ok()
}

fn float(text: &str) -> Option<f32> {
    #[expect(clippy::cast_possible_truncation, reason = "a threshold is of single precision")]
    values::double(text).map(|number| number as f32)
}

fn selector(asked: &Asked) -> Result<Selector, Refusal> {
    values::selector(asked.get("selector").unwrap_or_default()).map_err(|error| match error {
        SelectorError::Broken => refuse("Param 'selector' is illegal, it should be a JSON object"),
        SelectorError::Unknown => refuse(values::UNKNOWN_SELECTOR),
    })
}

/// A selector as this API shows it: with the labels that its expression compares.
pub(super) fn selector_json(selector: &Selector) -> Value {
    let mut shown = values::selector_json(selector);
    if let Selector::Label(expression) = selector {
        let labels =
            expression.split('&').filter_map(|part| part.split('=').next()?.trim().strip_prefix("CONSUMER.label."));
        shown["labels"] = labels.map(str::trim).collect();
    }
    shown
}

/// `DELETE /v1/ns/service`
pub(super) fn remove(context: &Context, asked: &Asked) -> Outcome {
    let service = asked.service_present()?;
    ops::delete(context, &service).map_err(|error| refusal::of(&error, &service, Kind::Persistent))?;
    ok()
}

/// `GET /v1/ns/service`
pub(super) fn detail(context: &Context, asked: &Asked) -> Outcome {
    let service = asked.service_present()?;
    let detail = ops::detail(context, &service).map_err(|_| {
        let (namespace, grouped) = (&service.namespace, service.grouped());
        refuse(format!("service not found, namespace: {namespace}, serviceName: {grouped}"))
    })?;
    let clusters: Vec<Value> = detail
        .clusters
        .iter()
        .map(|(name, cluster)| {
            let checker = values::checker_json(&cluster.checker);
            json!({ "name": &**name, "healthChecker": checker, "metadata": cluster.entries })
        })
        .collect();
    Ok(reply::json_of(
        200,
        &json!({
            "namespaceId": service.namespace,
            "groupName": service.group,
            "name": service.name,
            "protectThreshold": values::decimal(detail.metadata.threshold),
            "metadata": detail.metadata.entries,
            "selector": selector_json(&detail.metadata.selector),
            "clusters": clusters,
        }),
    ))
}

/// `PUT /v1/ns/cluster`
pub(super) fn update_cluster(context: &Context, asked: &Asked) -> Outcome {
    let service = asked.service()?;
    asked.required("clusterName")?;
    let cluster = asked.cluster(&["clusterName"])?;
    let check_port = asked.required("checkPort")?;
    let check_port = check_port.trim().parse().map_err(|_| not_a_number(check_port))?;
    asked.required("useInstancePort4Check")?;
    let checker = values::checker(asked.required("healthChecker")?)
        .map_err(|Broken| refuse("Param 'healthChecker' is illegal, it should be a JSON object"))?;
    let use_instance_port = asked.boolean(&["useInstancePort4Check"]).unwrap_or(true);
    let metadata = ClusterMetadata { checker, check_port, use_instance_port, entries: asked.metadata(context)? };
    ops::set_cluster(context, &service, cluster, metadata).map_err(|error| match error {
        OpError::ServiceNotFound => refuse(format!("service not found:{}", service.grouped())),
        other => refusal::of(&other, &service, Kind::Persistent),
    })?;
    ok()
}

/// `PUT /v1/ns/health` and `/v1/ns/health/instance`
pub(super) fn set_health(context: &Context, asked: &Asked) -> Outcome {
    let service = asked.service()?;
    let healthy = asked.boolean(&["healthy", "valid"]).ok_or_else(|| refuse("Param 'healthy' is required."))?;
    let instance = asked.instance(&["clusterName"])?;
    ops::set_health(context, &service, &instance, healthy).map_err(|error| match error {
        OpError::CheckerWorking => {
            let (grouped, cluster) = (service.grouped(), &instance.cluster);
            refuse(format!("health check is still working, service: {grouped}, cluster: {cluster}"))
        }
        other => refusal::of(&other, &service, Kind::Persistent),
    })?;
    ok()
}
