use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::{Map, Value, json};

use super::api_error::{ApiError, mistyped};
use super::node::address;
use super::params::Params;
use super::reply::{self, Refusal, settle};
use super::service::Shared;
use crate::conn::Connection;
use crate::context::Context;

/// Looking at the gRPC connections, and asking clients to move.
pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/v2/core/loader/current", get(async |State(c): State<Shared>| reply::json_of(200, &connections(&c))))
        .route("/v2/core/loader/cluster", get(cluster_v2))
        .route("/v2/core/loader/reloadClient", get(async |c, p| done_v2(reload_one(c, p))))
        .route("/v2/core/loader/reloadCurrent", get(async |c, p| done_v2(reload_all(c, p))))
        .route("/v3/admin/core/loader/current", get(async |State(c): State<Shared>| reply::success(&connections(&c))))
        .route("/v3/admin/core/loader/cluster", get(cluster_v3))
        .route("/v3/admin/core/loader/reloadClient", post(async |c, p| done_v3(reload_one(c, p))))
        .route("/v3/admin/core/loader/reloadCurrent", post(async |c, p| done_v3(reload_all(c, p))))
        // One node has nobody to share with.
        .route("/v3/admin/core/loader/smartReloadCluster", post(async || done_v3(Ok(()))))
}

fn done_v2(outcome: Result<(), Refusal>) -> Response {
    settle(outcome.map(|()| reply::text(200, "success")))
}

fn done_v3(outcome: Result<(), Refusal>) -> Response {
    settle(outcome.map(|()| reply::success(&Value::Null)))
}

/// All connections by id.
fn connections(context: &Context) -> Map<String, Value> {
    let mut all = Map::new();
    context.connections.for_each(|connection| {
        all.insert(connection.id.to_string(), json!({ "metaInfo": meta_info(connection) }));
    });
    all
}

fn meta_info(connection: &Connection) -> Value {
    let registration = connection.registration();
    let text = |of: fn(&crate::conn::Registration) -> &String| registration.as_deref().map(of).cloned();
    json!({
        "connectType": "GRPC",
        "connectionId": &*connection.id,
        "remoteIp": connection.remote.ip().to_string(),
        "remotePort": connection.remote.port(),
        "localPort": connection.context.http_addr.port().saturating_add(1_000),
        "clientIp": text(|r| &r.client_ip),
        "version": text(|r| &r.client_version),
        "appName": text(|r| &r.app),
        "labels": { "source": text(|r| &r.source), "module": text(|r| &r.module) },
    })
}

/// How many connections there are, and how many of them are of clients.
fn counts(context: &Context) -> (usize, usize) {
    (context.connections.len(), of_clients(context).len())
}

fn of_clients(context: &Context) -> Vec<Arc<Connection>> {
    let mut all = Vec::new();
    context.connections.for_each(|connection| {
        if connection.registration().is_some_and(|registration| registration.source == "sdk") {
            all.push(Arc::clone(connection));
        }
    });
    all
}

/// A connection count above which a node would be asked to give some away.
fn threshold(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX)) * 1.1
}

async fn cluster_v2(State(context): State<Shared>) -> Response {
    let (all, sdk) = counts(&context);
    let metric = json!({ "load": "0.0", "cpu": "0.0", "sdkConCount": sdk.to_string(), "conCount": all.to_string() });
    reply::json_of(
        200,
        &json!({
            "total": sdk, "min": sdk, "avg": sdk, "max": sdk, "memberCount": 1, "metricsCount": 1,
            "threshold": threshold(sdk), "completed": true,
            "detail": [{ "address": address(&context), "metric": metric }],
        }),
    )
}

async fn cluster_v3(State(context): State<Shared>) -> Response {
    let (all, sdk) = counts(&context);
    reply::success(&json!({
        "total": sdk, "min": sdk, "avg": sdk, "max": sdk, "memberCount": 1, "metricsCount": 1,
        "threshold": format!("{:?}", threshold(sdk)), "completed": true,
        "detail": [{
            "address": address(&context), "sdkConCount": sdk, "conCount": all, "load": "0.0", "cpu": "0.0",
        }],
    }))
}

fn required<'a>(params: &'a Params, name: &str, kind: &str) -> Result<&'a str, Refusal> {
    let text = format!("Required request parameter '{name}' for method parameter type {kind} is not present");
    params.get(name).map(str::trim).ok_or_else(|| ApiError::ParameterMissing.refuse(400, &text))
}

/// Asks one client to move; one that is not there is asked in vain.
fn reload_one(State(context): State<Shared>, params: Params) -> Result<(), Refusal> {
    let id = required(&params, "connectionId", "String")?;
    if let Some(connection) = context.connections.get(id) {
        connection.reset(params.get("redirectAddress").map(str::trim));
    }
    Ok(())
}

/// Asks as many clients to move as are here beyond `count`.
fn reload_all(State(context): State<Shared>, params: Params) -> Result<(), Refusal> {
    let count = required(&params, "count", "Integer")?;
    let count = count.parse::<i32>().map_err(|_| mistyped("count", count, "Integer"))?;
    let keep = usize::try_from(count).unwrap_or(0);
    let target = params.get("redirectAddress").map(str::trim);
    for connection in of_clients(&context).iter().skip(keep) {
        connection.reset(target);
    }
    Ok(())
}
