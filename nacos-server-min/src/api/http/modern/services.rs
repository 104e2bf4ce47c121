use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post, put};
use serde_json::{Map, Value, json};

use super::failure::failure;
use super::form::{Form, Generation};
use crate::api::http::api_error::{ApiError, mistyped};
use crate::api::http::reply::{self, Refusal, settle};
use crate::api::http::service::Shared;
use crate::api::http::values::{self, SelectorError};
use crate::context::Context;
use crate::ops::{self, OpError, ServiceDetail, ServiceFilter, Shown};
use crate::registry::{ClusterMetadata, Kind, Service, ServiceMetadata};

/// The most that a page holds.
pub(super) const MAX_PAGE: i32 = 500;

pub(super) fn routes() -> Router<Shared> {
    let one = || post(create).put(update).delete(delete).get(detail);
    Router::new()
        .route("/v2/ns/service", one())
        .route("/v2/ns/service/list", get(names))
        .route("/v3/admin/ns/service", one())
        .route("/v3/admin/ns/service/list", get(overview))
        .route("/v3/admin/ns/service/subscribers", get(subscribers))
        .route("/v3/admin/ns/service/selector/types", get(selector_types))
        .route("/v3/admin/ns/cluster", put(set_cluster))
}

/// As [`routes`], for the console.
pub(super) fn console_routes() -> Router<Shared> {
    Router::new()
        .route("/v3/console/ns/service", post(create).put(update).delete(delete).get(detail))
        .route("/v3/console/ns/service/list", get(overview))
        .route("/v3/console/ns/service/subscribers", get(subscribers))
        .route("/v3/console/ns/service/selector/types", get(selector_types))
        .route("/v3/console/ns/service/cluster", put(set_cluster))
}

async fn selector_types() -> Response {
    reply::success(&["label", "none"])
}

fn ok() -> Response {
    reply::success(&"ok")
}

/// What a form says about the service as a whole.
fn metadata(form: &Form) -> Result<ServiceMetadata, Refusal> {
    let threshold = match form.get("protectThreshold") {
        None => 0.0,
        Some(text) => text.parse().map_err(|_| mistyped("protectThreshold", text, "Float"))?,
    };
    let selector = values::selector(form.get("selector").unwrap_or_default()).map_err(|error| match error {
        SelectorError::Unknown => ApiError::Selector.refuse(400, values::UNKNOWN_SELECTOR),
        SelectorError::Broken => ApiError::Selector.refuse(400, "Param 'selector' is illegal, it is no JSON object"),
    })?;
    Ok(ServiceMetadata { threshold, entries: form.metadata.clone(), selector })
}

async fn create(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let kind = if form.flag("ephemeral")? == Some(true) { Kind::Ephemeral } else { Kind::Persistent };
        let key = form.key()?;
        ops::create(&context, &key, kind, metadata(&form)?).map_err(|error| failure(&key, &error))?;
        Ok(ok())
    })())
}

async fn update(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        form.flag("ephemeral")?;
        let key = form.key()?;
        ops::set_metadata(&context, &key, metadata(&form)?).map_err(|error| failure(&key, &error))?;
        Ok(ok())
    })())
}

async fn delete(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let key = form.asked_key()?;
        ops::delete(&context, &key).map_err(|error| failure(&key, &error))?;
        Ok(ok())
    })())
}

async fn detail(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let key = form.asked_key()?;
        let detail = ops::detail(&context, &key).map_err(|error| match error {
            OpError::ServiceNotFound => {
                let text = format!("service not found, namespace: {}, serviceName: {}", key.namespace, key.grouped());
                ApiError::ServiceMissing.refuse(400, &text)
            }
            other => failure(&key, &other),
        })?;
        Ok(reply::success(&detail_json(&detail, form.generation)))
    })())
}

fn detail_json(detail: &ServiceDetail, generation: Generation) -> Value {
    let namespace = match generation {
        Generation::V2 => "namespace",
        Generation::V3 => "namespaceId",
    };
    let clusters = detail.clusters.iter().map(|(name, said)| (name.to_string(), cluster_json(name, said, generation)));
    json!({
        namespace: &*detail.service.namespace,
        "serviceName": &*detail.service.name,
        "groupName": &*detail.service.group,
        "clusterMap": clusters.collect::<Map<String, Value>>(),
        "metadata": detail.metadata.entries,
        "protectThreshold": values::decimal(detail.metadata.threshold),
        "selector": values::selector_json(&detail.metadata.selector),
        "ephemeral": detail.kind == Kind::Ephemeral,
    })
}

fn cluster_json(name: &str, said: &ClusterMetadata, generation: Generation) -> Value {
    let checker = values::checker_json(&said.checker);
    match generation {
        Generation::V2 => {
            json!({ "clusterName": name, "healthChecker": checker, "metadata": said.entries, "hosts": null })
        }
        Generation::V3 => json!({
            "clusterName": name,
            "healthChecker": checker,
            "healthyCheckPort": said.check_port,
            "useInstancePortForCheck": said.use_instance_port,
            "metadata": said.entries,
            "hosts": null,
        }),
    }
}

/// The bare names of a group's services.
async fn names(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let (page, ..) = form.page(20, MAX_PAGE)?;
        let group = form.get("groupName").unwrap_or(crate::api::http::DEFAULT_GROUP);
        let (count, services) = ops::page(&context, form.namespace(), group, page);
        let names: Vec<&str> = services.iter().map(|service| &*service.name).collect();
        Ok(reply::success(&json!({ "count": count, "services": names })))
    })())
}

/// A page in the third generation's form.
pub(super) fn page_json(total: usize, number: i32, size: i32, items: &[Value]) -> Value {
    let per_page = usize::try_from(size).unwrap_or(0);
    let pages = if per_page == 0 { 0 } else { total.div_ceil(per_page) };
    json!({ "totalCount": total, "pageNumber": number, "pagesAvailable": pages, "pageItems": items })
}

async fn overview(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let (page, number, size) = form.page(100, MAX_PAGE)?;
        let with_instances = form.flag("withInstances")?.unwrap_or(false);
        let filter = ServiceFilter {
            namespace: form.namespace(),
            group: form.get("groupNameParam").unwrap_or_default(),
            name: form.get("serviceNameParam").unwrap_or_default(),
            hide_empty: form.flag("ignoreEmptyService")?.unwrap_or(false),
        };
        let (total, services) = ops::services(&context, filter, page);
        let item = |service| if with_instances { whole(&context, service) } else { summary(&context, service) };
        let items: Vec<Value> = services.iter().map(item).collect();
        Ok(reply::success(&page_json(total, number, size, &items)))
    })())
}

fn summary(context: &Context, service: &Arc<Service>) -> Value {
    let summary = ops::summary(context, service);
    json!({
        "name": &*service.name,
        "groupName": &*service.group,
        "clusterCount": summary.clusters,
        "ipCount": summary.instances,
        "healthyInstanceCount": summary.healthy,
        "triggerFlag": summary.protected.to_string(),
    })
}

/// A service with its instances by cluster. What the real server leaves null here is null here too.
fn whole(context: &Context, service: &Arc<Service>) -> Value {
    let key = ops::ServiceKey {
        namespace: service.namespace.to_string(),
        group: service.group.to_string(),
        name: service.name.to_string(),
    };
    let mut clusters = Map::new();
    let rows = ops::rows(context, &key);
    for group in rows.chunk_by(|a, b| a.instance.cluster == b.instance.cluster) {
        add_hosts(&mut clusters, group);
    }
    let entries = ops::detail(context, &key).map(|detail| detail.metadata.entries.clone()).unwrap_or_default();
    json!({
        "namespaceId": null,
        "serviceName": &*service.name,
        "groupName": &*service.group,
        "clusterMap": clusters,
        "metadata": entries,
        "protectThreshold": 0.0,
        "selector": null,
        "ephemeral": null,
    })
}

fn add_hosts(clusters: &mut Map<String, Value>, rows: &[Shown]) {
    let Some(first) = rows.first() else { return };
    let cluster = clusters.entry(first.instance.cluster.to_string()).or_insert_with(|| {
        json!({
            "clusterName": null, "healthChecker": null, "healthyCheckPort": 80, "useInstancePortForCheck": true,
            "metadata": null, "hosts": [],
        })
    });
    if let Some(Value::Array(hosts)) = cluster.get_mut("hosts") {
        hosts.extend(rows.iter().map(|shown| json!(shown)));
    }
}

async fn subscribers(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let key = form.key()?;
        let (page, number, size) = form.page(100, MAX_PAGE)?;
        let mut all = ops::subscribers(&context, &key.namespace, &key.group, &key.name);
        if form.flag("aggregation")? == Some(false) {
            all.retain(|one| one.group == key.group && one.service == key.name);
        }
        let (skip, take) = page.bounds();
        let items: Vec<Value> = all.iter().skip(skip).take(take).map(subscriber).collect();
        Ok(reply::success(&page_json(all.len(), number, size, &items)))
    })())
}

fn subscriber(one: &ops::SubscriberInfo) -> Value {
    json!({
        "namespaceId": one.namespace,
        "groupName": one.group,
        "serviceName": one.service,
        "ip": one.ip,
        "port": one.port,
        "agent": one.agent,
        "appName": one.app,
    })
}

async fn set_cluster(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let key = form.key()?;
        let cluster = form.required("clusterName", "String")?;
        form.required("checkPort", "Integer")?;
        form.required("useInstancePort4Check", "Boolean")?;
        let checker = values::checker(form.required("healthChecker", "String")?).map_err(|values::Broken| {
            ApiError::ParameterInvalid.refuse(400, "Param 'healthChecker' is illegal, it is no JSON object")
        })?;
        let said = ClusterMetadata {
            checker,
            check_port: form.integer("checkPort")?.unwrap_or_default(),
            use_instance_port: form.flag("useInstancePort4Check")?.unwrap_or_default(),
            entries: form.metadata.clone(),
        };
        ops::set_cluster(&context, &key, cluster, said).map_err(|error| match error {
            OpError::ServiceNotFound => ApiError::Server.refuse(400, &format!("service not found:{}", key.grouped())),
            other => failure(&key, &other),
        })?;
        Ok(ok())
    })())
}
