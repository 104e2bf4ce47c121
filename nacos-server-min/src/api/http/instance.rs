use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use nacos_proto::grpc::Instance as WireInstance;
use nacos_proto::param::{self, ParamError};
use serde_json::Value;

use super::params::Params;
use super::reply;
use super::service::Shared;
use crate::context::{Context, ListRequest};
use crate::instance_id;
use crate::registry::{Instance, KeyRef, Kind, NameForm, WriteError};

const DEFAULT_GROUP: &str = "DEFAULT_GROUP";
const DEFAULT_NAMESPACE: &str = "public";

/// The answer that ends a handler early.
type Refusal = Box<Response>;

fn refuse(text: impl Into<String>) -> Refusal {
    Box::new(reply::text(400, text))
}

/// A refusal by the parameter filter ends in a line break.
fn filtered(error: &ParamError) -> Refusal {
    refuse(format!("{error}\r\n"))
}

fn required<'a>(params: &'a Params, name: &str) -> Result<&'a str, Refusal> {
    params.get(name).ok_or_else(|| refuse(format!("Param '{name}' is required.")))
}

/// `POST /v1/ns/instance`
pub(super) async fn register(State(context): State<Shared>, params: Params) -> Response {
    register_outcome(&context, &params).unwrap_or_else(|refusal| *refusal)
}

fn register_outcome(context: &Context, params: &Params) -> Result<Response, Refusal> {
    let service = ServiceName::of(params)?;
    let instance = instance_of(context, params)?;
    let kind = kind_of(params);
    param::beat_times(&instance)
        .and_then(|()| param::registering_cluster(instance.cluster_name.as_deref().unwrap_or_default()))
        .map_err(|error| refuse(error.to_string()))?;
    let id = instance_id::of(&instance, service.key(), || context.snowflake());
    let stored = Instance::from_wire(&context.registry.names, instance, id);
    match kind {
        Kind::Ephemeral => context.note_missing_beats(),
        Kind::Persistent => context.note_memory_only_persistence(),
    }
    context.registry.publish_internal(service.key(), kind, stored).map_err(|error| match error {
        WriteError::OtherKind(other) => refuse(format!(
            "errCode: 400, errMsg: Current service {}@@{} is {other} service, can't register {kind} instance. ",
            service.group, service.name
        )),
        WriteError::TooMany(what) => Box::new(reply::text(503, format!("too many {what}"))),
        WriteError::ClientClosed => Box::new(reply::text(500, "the instance is being removed")),
    })?;
    Ok(reply::text(200, "ok"))
}

/// `DELETE /v1/ns/instance`
pub(super) async fn deregister(State(context): State<Shared>, params: Params) -> Response {
    deregister_outcome(&context, &params).unwrap_or_else(|refusal| *refusal)
}

fn deregister_outcome(context: &Context, params: &Params) -> Result<Response, Refusal> {
    let service = ServiceName::of(params)?;
    let instance = instance_of(context, params)?;
    let port = u16::try_from(instance.port).unwrap_or_default();
    let ip = instance.ip.as_deref();
    // The cluster does not matter, and nothing to remove is a success too.
    context.registry.withdraw_internal(service.key(), kind_of(params), ip, port, context.clock.seconds());
    Ok(reply::text(200, "ok"))
}

/// `GET /v1/ns/instance/list`
pub(super) async fn list(State(context): State<Shared>, params: Params) -> Response {
    list_outcome(&context, &params).unwrap_or_else(|refusal| *refusal)
}

fn list_outcome(context: &Context, params: &Params) -> Result<Response, Refusal> {
    let service = ServiceName::of(params)?;
    let clusters = params.get("clusters").unwrap_or_default();
    param::clusters(clusters).map_err(|error| filtered(&error))?;
    if let Some(port) = params.get("udpPort") {
        port.trim().parse::<i32>().map_err(|_| not_a_number(port))?;
    }
    let list = ListRequest {
        group: &service.group,
        name: &service.name,
        form: NameForm::Grouped,
        clusters: Some(clusters.trim()),
        healthy_only: params.get("healthyOnly").is_some_and(|text| text.trim().eq_ignore_ascii_case("true")),
    };
    Ok(reply::json(context.answer_list(context.registry.find(service.key()).as_ref(), list)))
}

/// Namespace, group and bare name, whether the caller joined the latter two or not.
struct ServiceName {
    namespace: String,
    group: String,
    name: String,
}

impl ServiceName {
    fn of(params: &Params) -> Result<Self, Refusal> {
        let malformed = "Param 'serviceName' is illegal, it should be format as 'groupName@@serviceName'";
        let full = match params.raw("serviceName") {
            None | Some("") => return Err(refuse("Param 'serviceName' is required.")),
            Some(text) => text.trim(),
        };
        if full.is_empty() {
            return Err(refuse(malformed));
        }
        let group = params.get("groupName").unwrap_or(DEFAULT_GROUP);
        let (group, name) = match full.split_once("@@") {
            Some((_, "")) => return Err(refuse(malformed)),
            Some(("", _)) if full.len() > 2 => {
                return Err(refuse("Param 'serviceName' is illegal, groupName can't be empty"));
            }
            Some(parts) => parts,
            None => (group, full),
        };
        let namespace = params.get("namespaceId").unwrap_or(DEFAULT_NAMESPACE);
        param::namespace(namespace)
            .and_then(|()| param::service(name))
            .and_then(|()| param::group(group))
            .map_err(|error| filtered(&error))?;
        Ok(Self { namespace: namespace.trim().to_owned(), group: group.trim().to_owned(), name: name.to_owned() })
    }

    fn key(&self) -> KeyRef<'_> {
        KeyRef { namespace: &self.namespace, group: &self.group, name: &self.name }
    }
}

fn kind_of(params: &Params) -> Kind {
    if boolean(params, &["ephemeral"], true) { Kind::Ephemeral } else { Kind::Persistent }
}

/// The instance that the parameters describe, checked.
fn instance_of(context: &Context, params: &Params) -> Result<WireInstance, Refusal> {
    let ip = required(params, "ip")?;
    let port = required(params, "port")?;
    let port = port.parse::<i32>().unwrap_or(-1);
    let cluster = params.get("clusterName").or_else(|| params.get("cluster"));
    param::ip(ip)
        .and_then(|()| param::port(port))
        .and_then(|()| cluster_rule(cluster.unwrap_or_default()))
        .map_err(|error| filtered(&error))?;
    let metadata = metadata(params.get("metadata").unwrap_or_default())?;
    param::metadata(&metadata, context.settings.max_metadata).map_err(|error| filtered(&error))?;
    let weight = match params.get("weight") {
        None => 1.0,
        Some(text) => text.trim().parse::<f64>().map_err(|_| not_a_number(text))?,
    };
    param::weight(weight).map_err(|error| refuse(error.to_string()))?;
    Ok(WireInstance {
        ip: Some(ip.to_owned()),
        port,
        weight,
        healthy: boolean(params, &["healthy"], true),
        enabled: boolean(params, &["enabled", "enable"], true),
        cluster_name: Some(cluster.unwrap_or("DEFAULT").to_owned()),
        metadata: metadata.into(),
        ..WireInstance::default()
    })
}

/// A cluster on its own, where a comma or a blank is illegal.
fn cluster_rule(cluster: &str) -> Result<(), ParamError> {
    param::cluster(cluster)
}

fn not_a_number(text: &str) -> Refusal {
    refuse(format!("For input string: \"{text}\""))
}

/// The first of the names that has a value: true for a few words, false for everything else.
fn boolean(params: &Params, names: &[&str], default: bool) -> bool {
    let text = names.iter().find_map(|name| params.get(name));
    text.map_or(default, |text| matches!(text.trim().to_ascii_lowercase().as_str(), "true" | "on" | "yes" | "y" | "t"))
}

/// A JSON object of simple values, or `key=value` pairs with commas between them.
fn metadata(text: &str) -> Result<BTreeMap<String, String>, Refusal> {
    if text.trim().is_empty() {
        return Ok(BTreeMap::new());
    }
    if let Ok(Value::Object(object)) = serde_json::from_str(text)
        && !object.values().any(|value| value.is_object() || value.is_array())
    {
        return Ok(object.into_iter().filter_map(|(key, value)| simple(value).map(|v| (key, v))).collect());
    }
    let pair = |pair: &str| match pair.split('=').collect::<Vec<_>>().as_slice() {
        [key, value] if !value.is_empty() => Some(((*key).to_owned(), (*value).to_owned())),
        _ => None,
    };
    text.split(',')
        .map(pair)
        .collect::<Option<BTreeMap<_, _>>>()
        .ok_or_else(|| refuse(format!("Param 'metadata' is illegal, metadata format incorrect:{text}")))
}

fn simple(value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    }
}
