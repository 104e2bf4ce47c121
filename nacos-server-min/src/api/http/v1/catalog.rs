use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::asked::{Asked, Outcome, not_a_number, refuse};
use super::refusal;
use crate::api::http::reply::{self, Refusal};
use crate::api::http::values;
use crate::context::Context;
use crate::ops::{self, OpError, ServiceDetail, ServiceFilter, ServiceKey, ServiceSummary, Shown};
use crate::registry::{Kind, Page, PageError};

fn unknown_service(service: &ServiceKey) -> Refusal {
    Box::new(reply::text(404, format!("service {} is not found!", service.grouped())))
}

/// `GET /v1/ns/catalog/service`
pub(super) fn service(context: &Context, asked: &Asked) -> Outcome {
    let service = asked.service_present()?;
    let ServiceDetail { metadata, clusters, .. } =
        ops::detail(context, &service).map_err(|_| unknown_service(&service))?;
    let clusters: Vec<Value> = clusters
        .iter()
        .map(|(name, cluster)| {
            json!({
                "serviceName": service.grouped(),
                "name": &**name,
                "healthChecker": values::checker_json(&cluster.checker),
                "defaultPort": 80,
                "defaultCheckPort": cluster.check_port,
                "useIPPort4Check": cluster.use_instance_port,
                "metadata": cluster.entries,
            })
        })
        .collect();
    let about = json!({
        "name": service.name,
        "groupName": service.group,
        "protectThreshold": values::decimal(metadata.threshold),
        "selector": super::service::selector_json(&metadata.selector),
        "metadata": metadata.entries,
    });
    Ok(reply::json_of(200, &json!({ "service": about, "clusters": clusters })))
}

fn page(asked: &Asked, number: &str, size: &str) -> Result<Page, Refusal> {
    let read = |name: &str| {
        let text = asked.present(name)?;
        text.trim().parse().map_err(|_| not_a_number(text))
    };
    Page::new(read(number)?, read(size)?)
        .map_err(|PageError { size }| refuse(format!("fromIndex(0) > toIndex({size})")))
}

/// `/v1/ns/catalog/instances`: disabled ones too.
pub(super) fn instances(context: &Context, asked: &Asked) -> Outcome {
    let service = asked.service_present()?;
    let cluster = asked.present("clusterName")?;
    let (skip, take) = page(asked, "pageNo", "pageSize")?.bounds();
    let rows = ops::instances_of(context, &service, Some(cluster)).map_err(|error| match error {
        OpError::ServiceNotFound => unknown_service(&service),
        OpError::ClusterNotFound => Box::new(reply::text(404, format!("cluster {cluster} is not found!"))),
        other => refusal::of(&other, &service, Kind::Persistent),
    })?;
    let shown: Vec<&Shown> = rows.iter().skip(skip).take(take).collect();
    Ok(reply::json_of(200, &json!({ "list": shown, "count": rows.len() })))
}

/// `GET /v1/ns/catalog/services`
pub(super) fn services(context: &Context, asked: &Asked) -> Outcome {
    for name in ["pageNo", "pageSize"] {
        if asked.get(name).is_none() {
            // The real server fails on it.
            return Err(Box::new(reply::text(500, format!("caused: Parameter '{name}' is missing;"))));
        }
    }
    let page = page(asked, "pageNo", "pageSize")?;
    let filter = ServiceFilter {
        namespace: asked.namespace()?,
        group: asked.get("groupNameParam").unwrap_or_default(),
        name: asked.get("serviceNameParam").unwrap_or_default(),
        hide_empty: asked.flag("hasIpCount"),
    };
    let (count, services) = ops::services(context, filter, page);
    let summaries = services.iter().map(|service| ops::summary(context, service));
    if asked.flag("withInstances") {
        let shown: Vec<Value> = summaries.map(|summary| with_instances(context, &summary)).collect();
        return Ok(reply::json_of(200, &shown));
    }
    let shown: Vec<Value> = summaries.map(|summary| summarized(&summary)).collect();
    Ok(reply::json_of(200, &json!({ "count": count, "serviceList": shown })))
}

fn summarized(summary: &ServiceSummary) -> Value {
    json!({
        "name": &*summary.service.name,
        "groupName": &*summary.service.group,
        "clusterCount": summary.clusters,
        "ipCount": summary.instances,
        "healthyInstanceCount": summary.healthy,
        "triggerFlag": summary.protected.to_string(),
    })
}

fn with_instances(context: &Context, summary: &ServiceSummary) -> Value {
    let service = &summary.service;
    let key = ServiceKey::of(service);
    let metadata = ops::detail(context, &key).map(|detail| detail.metadata).unwrap_or_default();
    let mut hosts: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for shown in ops::rows(context, &key) {
        let instance = &shown.instance;
        hosts.entry(instance.cluster.to_string()).or_default().push(json!({
            "ip": instance.host.to_string(),
            "port": instance.port,
            "valid": instance.healthy,
            "weight": instance.weight,
            "enabled": instance.enabled,
            "metadata": shown.metadata(),
        }));
    }
    let cluster = |hosts| json!({ "clusterName": null, "healthChecker": null, "metadata": null, "hosts": hosts });
    let clusters: BTreeMap<String, Value> = hosts.into_iter().map(|(name, hosts)| (name, cluster(hosts))).collect();
    json!({
        "namespace": null,
        "serviceName": &*service.name,
        "groupName": &*service.group,
        "clusterMap": clusters,
        "metadata": metadata.entries,
        "protectThreshold": values::decimal(metadata.threshold),
        "selector": null,
        "ephemeral": null,
    })
}
