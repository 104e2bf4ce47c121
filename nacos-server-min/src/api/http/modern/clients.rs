use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use serde_json::{Value, json};

use super::form::{Form, Generation};
use crate::api::http::api_error::ApiError;
use crate::api::http::node::address;
use crate::api::http::reply::{self, Refusal, settle};
use crate::api::http::service::Shared;
use crate::conn::Connection;
use crate::context::Context;
use crate::ops::{self, ServiceKey, SubscriberInfo};
use crate::registry::{Client, Instance, Kind, Service};

/// Who publishes and subscribes what: connections, and the clients that stand for one address each.
pub(super) fn routes() -> Router<Shared> {
    let mut router = Router::new();
    for prefix in ["/v2/ns/client", "/v3/admin/ns/client"] {
        router = router
            .route(prefix, get(detail))
            .route(&format!("{prefix}/list"), get(list))
            .route(&format!("{prefix}/publish/list"), get(published))
            .route(&format!("{prefix}/subscribe/list"), get(subscribed))
            .route(&format!("{prefix}/service/publisher/list"), get(publishers))
            .route(&format!("{prefix}/service/subscriber/list"), get(subscribers));
    }
    router.route("/v3/admin/ns/client/distro", get(responsible))
}

/// A client of the registry, with the connection it is, if it is one.
struct Known {
    client: Arc<Client>,
    connection: Option<Arc<Connection>>,
}

impl Known {
    fn all(context: &Context) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        context.connections.for_each(|connection| all.extend(Self::connected(connection)));
        all.extend(context.registry.internal_clients().into_iter().map(Self::internal));
        all
    }

    fn connected(connection: &Arc<Connection>) -> Option<Self> {
        let client = connection.registration()?.client.clone()?;
        Some(Self { client, connection: Some(Arc::clone(connection)) })
    }

    fn internal(client: Arc<Client>) -> Self {
        Self { client, connection: None }
    }

    /// The client that `clientId` names.
    fn of(context: &Context, form: &Form) -> Result<Self, Refusal> {
        let id = form.asked("clientId", "String")?;
        let connected = context.connections.get(id).and_then(|connection| Self::connected(&connection));
        let internal = || context.registry.internal_clients().into_iter().find(|client| *client.name == *id);
        let found = connected.or_else(|| internal().map(Self::internal));
        found.ok_or_else(|| ApiError::NotFound.refuse(404, &format!("clientId [ {id} ] not exist")))
    }

    fn is_ephemeral(&self) -> bool {
        !self.client.name.ends_with("#false")
    }

    fn agent(&self) -> Option<String> {
        let registration = self.connection.as_ref()?.registration()?;
        Some(registration.client_version.clone())
    }

    fn app(&self) -> Option<String> {
        let registration = self.connection.as_ref()?.registration()?;
        Some(registration.app.clone())
    }

    /// Its address, as far as a port is known.
    fn address(&self) -> (String, u16) {
        if let Some(connection) = &self.connection {
            return (connection.remote.ip().to_string(), connection.remote.port());
        }
        let name = self.client.name.split('#').next().unwrap_or_default();
        let (ip, port) = name.rsplit_once(':').unwrap_or((name, "0"));
        (ip.to_owned(), port.parse().unwrap_or_default())
    }

    /// When the newest list was made that it publishes into, or now.
    fn last_updated(&self, context: &Context) -> i64 {
        let now = context.clock.wall_ms();
        let (published, _) = self.client.services();
        let times = published.iter().map(|service| context.registry.view(service, now).last_ref_time);
        times.max().unwrap_or(now)
    }
}

async fn list(State(context): State<Shared>) -> Response {
    let ids: Vec<String> = Known::all(&context).iter().map(|known| known.client.name.to_string()).collect();
    reply::success(&ids)
}

async fn detail(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let known = Known::of(&context, &form)?;
        let kind = if known.connection.is_some() { "connection" } else { "ipPort" };
        let mut data = json!({
            "clientId": &*known.client.name,
            "ephemeral": known.is_ephemeral(),
            "lastUpdatedTime": known.last_updated(&context),
            "clientType": kind,
        });
        let (ip, port) = known.address();
        let connected = known.connection.is_some();
        let more = if connected || form.generation == Generation::V3 {
            let (ip, port) = if connected { (Some(ip), port) } else { (None, 0) };
            json!({
                "connectType": connected.then_some("GRPC"), "appName": known.app(), "version": known.agent(),
                "clientIp": ip, "clientPort": port,
            })
        } else {
            json!({ "clientIp": ip, "clientPort": port.to_string() })
        };
        if let (Value::Object(data), Value::Object(more)) = (&mut data, more) {
            data.extend(more);
        }
        Ok(reply::success(&data))
    })())
}

async fn published(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let known = Known::of(&context, &form)?;
        let (services, _) = known.client.services();
        let mut items = Vec::new();
        for service in &services {
            let record = context.registry.published_by(&known.client, service);
            let instances = record.iter().flat_map(|record| record.as_slice());
            items.extend(instances.map(|instance| published_json(service, instance, form.generation)));
        }
        Ok(reply::success(&items))
    })())
}

fn published_json(service: &Service, instance: &Instance, generation: Generation) -> Value {
    let (ip, port, cluster) = (instance.host.to_string(), instance.port, &*instance.cluster);
    match generation {
        Generation::V2 => json!({
            "namespace": &*service.namespace, "group": &*service.group, "serviceName": &*service.name,
            "registeredInstance": { "ip": ip, "port": port, "cluster": cluster },
        }),
        Generation::V3 => json!({
            "namespaceId": &*service.namespace, "groupName": &*service.group, "serviceName": &*service.name,
            "publisherInfo": { "clientId": null, "ip": ip, "port": port, "clusterName": cluster },
            "subscriberInfo": null,
        }),
    }
}

async fn subscribed(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let known = Known::of(&context, &form)?;
        let (_, services) = known.client.services();
        let items: Vec<Value> =
            services.iter().map(|service| subscribed_json(service, &known, form.generation)).collect();
        Ok(reply::success(&items))
    })())
}

fn subscribed_json(service: &Service, known: &Known, generation: Generation) -> Value {
    let (ip, port) = known.address();
    let (agent, app, address) = (known.agent(), known.app(), format!("{ip}:{port}"));
    match generation {
        Generation::V2 => json!({
            "namespace": &*service.namespace, "group": &*service.group, "serviceName": &*service.name,
            "subscriberInfo": { "app": app, "agent": agent, "addr": address },
        }),
        Generation::V3 => json!({
            "namespaceId": &*service.namespace, "groupName": &*service.group, "serviceName": &*service.name,
            "publisherInfo": null,
            "subscriberInfo": { "clientId": null, "appName": app, "agent": agent, "address": address },
        }),
    }
}

/// The service a list of clients is about, if it is of the wanted kind.
fn service_of(context: &Context, form: &Form) -> Result<Option<Arc<Service>>, Refusal> {
    let wanted = form.flag("ephemeral")?;
    let ServiceKey { namespace, group, name } = &form.asked_key()?;
    let service = context.registry.find(crate::registry::KeyRef { namespace, group, name });
    Ok(service.filter(|service| match (service.kind(), wanted) {
        (Some(kind), Some(ephemeral)) => ephemeral == (kind == Kind::Ephemeral),
        _ => true,
    }))
}

/// Whether an entry is about the address that was asked for, if one was.
fn is_wanted(form: &Form, ip: &str, port: u16) -> Result<bool, Refusal> {
    let wanted_port = form.integer("port")?;
    Ok(form.get("ip").is_none_or(|wanted| wanted == ip) && wanted_port.is_none_or(|wanted| wanted == i32::from(port)))
}

async fn publishers(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let Some(service) = service_of(&context, &form)? else { return Ok(reply::success(&json!([]))) };
        let mut items = Vec::new();
        for known in Known::all(&context) {
            let record = context.registry.published_by(&known.client, &service);
            for instance in record.iter().flat_map(|record| record.as_slice()) {
                let ip = instance.host.to_string();
                if is_wanted(&form, &ip, instance.port)? {
                    let mut item = json!({ "clientId": &*known.client.name, "ip": ip, "port": instance.port });
                    if form.generation == Generation::V3 {
                        item["clusterName"] = json!(&*instance.cluster);
                    }
                    items.push(item);
                }
            }
        }
        Ok(reply::success(&items))
    })())
}

async fn subscribers(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let Some(service) = service_of(&context, &form)? else { return Ok(reply::success(&json!([]))) };
        let mut items = Vec::new();
        for known in Known::all(&context) {
            let (ip, port) = known.address();
            let subscribed = service.subscribers().iter().any(|one| one.client.number == known.client.number);
            if !subscribed || !is_wanted(&form, &ip, port)? {
                continue;
            }
            items.push(match form.generation {
                Generation::V2 => json!({ "clientId": &*known.client.name, "ip": ip, "port": port }),
                Generation::V3 => json!({
                    "clientId": &*known.client.name, "appName": known.app(), "agent": known.agent(),
                    "address": format!("{ip}:{port}"),
                }),
            });
        }
        for one in ops::by_udp(&context, &service) {
            if is_wanted(&form, &one.ip, one.port)? {
                items.push(udp_subscriber(&one, form.generation));
            }
        }
        Ok(reply::success(&items))
    })())
}

/// A subscriber by UDP, who is a client by its address.
fn udp_subscriber(one: &SubscriberInfo, generation: Generation) -> Value {
    let id = format!("{}#true", one.address);
    match generation {
        Generation::V2 => json!({ "clientId": id, "ip": one.ip, "port": one.port }),
        Generation::V3 => {
            json!({ "clientId": id, "appName": one.app, "agent": one.agent, "address": one.address })
        }
    }
}

/// The node that answers for an address: the only one.
async fn responsible(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        form.required("ip", "String")?;
        form.required("port", "String")?;
        Ok(reply::success(&json!({ "responsibleServer": address(&context) })))
    })())
}
