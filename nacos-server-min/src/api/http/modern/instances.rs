use std::collections::BTreeMap;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::{any, get, post, put};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::failure::{failure, no_instance, no_service};
use super::form::{Form, Generation};
use super::services::{MAX_PAGE, page_json};
use crate::api::http::api_error::ApiError;
use crate::api::http::beat::{self, Beat, BeatError};
use crate::api::http::reply::{self, Refusal, settle};
use crate::api::http::service::Shared;
use crate::api::http::values;
use crate::context::Context;
use crate::ops::{self, IdRule, InstancePatch, MetadataChange, OpError, Shown};
use crate::registry::{InstanceJson, Kind, NameForm, Override, Service, View};

type Outcome = Result<Response, Refusal>;

pub(super) fn routes() -> Router<Shared> {
    let batch = || put(set_metadata).delete(remove_metadata);
    let one = || post(register).delete(deregister);
    Router::new()
        .route("/v2/ns/instance", one().put(update).patch(patch).get(detail))
        .route("/v2/ns/instance/beat", put(beat))
        .route("/v2/ns/instance/list", get(list))
        .route("/v2/ns/instance/metadata/batch", batch())
        .route("/v2/ns/instance/statuses/{key}", any(statuses))
        .route("/v3/client/ns/instance", post(register_or_beat).delete(deregister))
        .route("/v3/client/ns/instance/list", get(hosts))
        .route("/v3/admin/ns/instance", one().put(update).get(detail))
        .route("/v3/admin/ns/instance/partial", put(partial))
        .route("/v3/admin/ns/instance/list", get(rows))
        .route("/v3/admin/ns/instance/metadata/batch", batch())
}

/// What the console asks about instances.
pub(super) fn console_routes() -> Router<Shared> {
    Router::new().route("/v3/console/ns/instance", put(update)).route("/v3/console/ns/instance/list", get(rows_page))
}

fn ok() -> Response {
    reply::success(&"ok")
}

async fn register(State(context): State<Shared>, form: Form) -> Response {
    settle(registered(&context, &form))
}

fn registered(context: &Context, form: &Form) -> Outcome {
    let kind = form.kind(context)?;
    let (key, instance) = (form.key(), form.instance());
    let (key, instance) = (key?, instance?);
    ops::register(context, &key, kind, instance, IdRule::None).map_err(|error| failure(&key, &error))?;
    Ok(ok())
}

/// With `heartBeat=true` nothing is registered: the client hears whether it has to.
async fn register_or_beat(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        if form.flag("heartBeat")? != Some(true) {
            return registered(&context, &form);
        }
        let (key, instance) = (form.key()?, form.instance_key()?);
        let taken = ops::beat(&context, &key, (&instance.host.to_string(), instance.port), None);
        if taken.map_err(|error| failure(&key, &error))?.known {
            Ok(ok())
        } else {
            Err(ApiError::InstanceNotFound.bare(200))
        }
    })())
}

async fn beat(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let key = form.grouped_key()?;
        let (ip, port) = form.optional_address();
        let (cluster, json) = (form.cluster("clusterName"), form.get("beat").unwrap_or_default());
        beat::take(&context, &key, &Beat { ip, port, cluster, json }).map_err(|error| match error {
            BeatError::Unreadable => ApiError::ParameterInvalid.refuse(400, beat::UNREADABLE),
            BeatError::Param(error) => reply::filtered(&error),
            BeatError::Op(error, _) => failure(&key, &error),
        })
    })())
}

async fn deregister(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let kind = form.kind(&context)?;
        let (key, instance) = (form.key()?, form.instance_key()?);
        ops::deregister(&context, &key, kind, &instance.host.to_string(), instance.port);
        Ok(ok())
    })())
}

async fn update(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let kind = form.kind(&context)?;
        let (key, wanted, instance) = (form.key()?, form.instance()?, form.instance_key()?);
        let (weight, enabled) = (Some(wanted.weight), Some(wanted.enabled));
        let over = Override { weight, enabled, metadata: form.metadata.clone() };
        ops::update(&context, &key, &instance, over).map_err(|error| no_service(&key, kind, &error))?;
        Ok(ok())
    })())
}

/// The second generation's partial change, which wants all parts and answers without envelope.
async fn patch(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let key = form.grouped_key()?;
        let instance = form.asked_instance_key("cluster")?;
        form.asked("weight", "Double")?;
        form.asked("enabled", "Boolean")?;
        form.asked("metadata", "String")?;
        let patch = wanted_patch(&form)?;
        ops::patch(&context, &key, &instance, patch).map_err(|error| no_instance(&key, &instance.cluster, &error))?;
        Ok(reply::text(200, "ok"))
    })())
}

/// The third generation's partial change: what is not named is set to its default, except metadata.
async fn partial(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let (key, instance) = (form.key()?, form.instance_key()?);
        let defaults = InstancePatch { weight: Some(1.0), enabled: Some(true), metadata: None };
        let wanted = wanted_patch(&form)?;
        let patch = InstancePatch {
            weight: wanted.weight.or(defaults.weight),
            enabled: wanted.enabled.or(defaults.enabled),
            metadata: wanted.metadata,
        };
        ops::patch(&context, &key, &instance, patch).map_err(|error| no_instance(&key, &instance.cluster, &error))?;
        Ok(ok())
    })())
}

fn wanted_patch(form: &Form) -> Result<InstancePatch, Refusal> {
    let (weight, enabled) = (form.double("weight")?, form.flag("enabled")?);
    if let Some(weight) = weight {
        let checked = nacos_proto::param::weight(weight);
        checked.map_err(|error| ApiError::Weight.refuse(400, &error.to_string()))?;
    }
    let metadata = form.get("metadata").is_some().then(|| form.metadata.clone());
    Ok(InstancePatch { weight, enabled, metadata })
}

async fn detail(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let key = form.asked_key()?;
        let instance = form.asked_instance_key("clusterName")?;
        let shown = ops::find(&context, &key, &instance).map_err(|e| no_instance(&key, &instance.cluster, &e))?;
        Ok(match form.generation {
            Generation::V2 => reply::success(&short_form(&shown)),
            Generation::V3 => reply::success(&shown),
        })
    })())
}

fn short_form(shown: &Shown) -> Value {
    let instance = &shown.instance;
    json!({
        "serviceName": format!("{}@@{}", shown.service.group, shown.service.name),
        "ip": instance.host.to_string(),
        "port": instance.port,
        "clusterName": &*instance.cluster,
        "weight": instance.weight,
        "healthy": instance.healthy,
        "instanceId": shown.id(),
        "metadata": shown.metadata(),
    })
}

/// The whole list, in the envelope; with a port for pushes, also a subscription.
async fn list(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let healthy_only = form.flag("healthyOnly")?.unwrap_or(false);
        let key = form.asked_key()?;
        let clusters = form.get("clusterName").unwrap_or_default();
        let receiver = (form.get("ip"), form.integer("port")?);
        let list = ops::list(&context, &key, clusters, healthy_only, NameForm::Grouped);
        form.caller.subscribe(&context, &key, clusters, receiver, form.get("app"));
        Ok(reply::success_of(&list))
    })())
}

/// Only the list's instances, of one cluster unless more are named; `healthyOnly` is taken and does nothing.
async fn hosts(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        form.flag("healthyOnly")?;
        let key = form.key()?;
        let Some(service) = context.registry.find(key.as_ref()) else { return Ok(reply::success(&json!([]))) };
        let view = context.registry.view(&service, context.clock.wall_ms());
        Ok(reply::success(&Hosts { service: &service, view: &view, clusters: form.cluster("clusterName") }))
    })())
}

/// The instances that a list of some clusters shows, without the list around them.
struct Hosts<'a> {
    service: &'a Service,
    view: &'a View,
    clusters: &'a str,
}

impl Serialize for Hosts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { service, view, clusters } = self;
        let protected = view.reaches_threshold(Some(clusters), false);
        serializer.collect_seq(view.listed(Some(clusters), false).map(|instance| InstanceJson {
            instance,
            group: &service.group,
            name: &service.name,
            kind: view.kind,
            healthy: instance.healthy || protected,
            omit_missing: false,
        }))
    }
}

/// The instances of a cluster, the disabled ones too.
async fn rows(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let healthy_only = form.flag("healthyOnly")?.unwrap_or(false);
        let key = form.key()?;
        let cluster = form.cluster("clusterName");
        let mut rows = ops::instances_of(&context, &key, Some(cluster)).map_err(|error| match error {
            OpError::ServiceNotFound => not_found(&format!("service {} is not found!", key.grouped())),
            OpError::ClusterNotFound => not_found(&format!("cluster {cluster} is not found!")),
            other => failure(&key, &other),
        })?;
        rows.retain(|shown| !healthy_only || shown.instance.healthy);
        Ok(reply::success(&rows))
    })())
}

/// A page of a service's instances, of one cluster or of all.
async fn rows_page(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let key = form.key()?;
        let (page, number, size) = form.page(100, MAX_PAGE)?;
        let mut rows = ops::rows(&context, &key);
        if let Some(cluster) = form.get("clusterName") {
            rows.retain(|shown| &*shown.instance.cluster == cluster);
        }
        let (skip, take) = page.bounds();
        let items: Vec<Value> = rows.iter().skip(skip).take(take).map(|shown| json!(shown)).collect();
        Ok(reply::success(&page_json(rows.len(), number, size, &items)))
    })())
}

fn not_found(text: &str) -> Refusal {
    ApiError::Server.refuse(404, text)
}

async fn set_metadata(State(context): State<Shared>, form: Form) -> Response {
    settle(batch(&context, &form, MetadataChange::Set))
}

async fn remove_metadata(State(context): State<Shared>, form: Form) -> Response {
    settle(batch(&context, &form, |entries| MetadataChange::Remove(entries.into_keys().collect())))
}

fn batch(context: &Context, form: &Form, change: impl FnOnce(BTreeMap<String, String>) -> MetadataChange) -> Outcome {
    let key = form.key()?;
    form.required("metadata", "String")?;
    let instances = values::instances(form.get("instances").unwrap_or_default()).map_err(|values::Broken| {
        ApiError::ParameterInvalid.refuse(400, "Param 'instances' is illegal, it is no list of instances")
    })?;
    let changed = ops::batch_metadata(context, &key, instances.as_deref(), &change(form.metadata.clone()));
    let updated: Vec<String> = changed.iter().map(updated).collect();
    Ok(reply::success(&json!({ "updated": updated })))
}

/// How an instance whose metadata changed is named.
fn updated(shown: &Shown) -> String {
    let (instance, kind) = (&shown.instance, if shown.kind == Kind::Ephemeral { "ephemeral" } else { "persistent" });
    format!("{}:{}:unknown:{}:{kind}", instance.host, instance.port, instance.cluster)
}

/// Addresses and health, without envelope.
async fn statuses(State(context): State<Shared>, Path(key): Path<String>, form: Form) -> Response {
    settle((|| {
        let key = form.grouped_key_of(&key)?;
        let rows = ops::rows(&context, &key);
        let shown = rows.iter().map(|shown| (&shown.instance, shown.instance.healthy));
        let ips: Vec<String> = shown.map(|(i, healthy)| format!("{}:{}_{healthy}", i.host, i.port)).collect();
        Ok(reply::json_of(200, &json!({ "ips": ips })))
    })())
}
