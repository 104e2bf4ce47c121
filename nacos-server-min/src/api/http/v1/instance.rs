use nacos_proto::param;
use serde_json::json;

use super::asked::{Asked, Outcome};
use super::refusal;
use crate::api::http::reply::{self, Refusal, filtered};
use crate::context::Context;
use crate::ops::{self, InstanceKey, OpError, ServiceKey};
use crate::registry::{Kind, NameForm};

/// `GET /v1/ns/instance/list`: with a port for pushes, also a subscription.
pub(super) fn list(context: &Context, asked: &Asked) -> Outcome {
    let service = asked.service()?;
    let clusters = asked.get("clusters").unwrap_or_default();
    param::clusters(clusters).map_err(|error| filtered(&error))?;
    let clusters = clusters.trim();
    let receiver = (asked.get("clientIP"), asked.integer("udpPort")?);
    let list = ops::list(context, &service, clusters, asked.flag("healthyOnly"), NameForm::Grouped);
    asked.caller.subscribe(context, &service, clusters, receiver, asked.get("app"));
    Ok(reply::json(list))
}

/// `GET /v1/ns/instance`
pub(super) fn detail(context: &Context, asked: &Asked) -> Outcome {
    let (service, key) = (asked.service()?, asked.instance(&["clusterName"])?);
    let shown = ops::find(context, &service, &key).map_err(|error| not_found(&error, &service, &key))?;
    let instance = &shown.instance;
    Ok(reply::json_of(
        200,
        &json!({
            "service": service.grouped(),
            "ip": instance.host.to_string(),
            "port": instance.port,
            "clusterName": &*instance.cluster,
            "weight": instance.weight,
            "healthy": instance.healthy,
            "instanceId": shown.id(),
            "metadata": shown.metadata(),
        }),
    ))
}

/// What is said about an instance that is not there.
pub(super) fn not_found(error: &OpError, service: &ServiceKey, key: &InstanceKey) -> Refusal {
    match error {
        OpError::ServiceNotFound => {
            let text = format!("no ips found for cluster {} in service {}", key.cluster, service.grouped());
            Box::new(reply::text(404, text))
        }
        other => refusal::of(other, service, Kind::Ephemeral),
    }
}

/// `/v1/ns/instance/statuses`
pub(super) fn statuses(context: &Context, asked: &Asked) -> Outcome {
    let service = asked.service_in(asked.present("key")?)?;
    let ips: Vec<String> = ops::rows(context, &service)
        .iter()
        .map(|shown| format!("{}:{}_{}", shown.instance.host, shown.instance.port, shown.instance.healthy))
        .collect();
    Ok(reply::json_of(200, &json!({ "ips": ips })))
}
