use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::console::{PROTOCOL_VERSION, PROTOCOL_VERSION_3};
use super::params::Params;
use super::reply;
use super::service::Shared;
use crate::context::Context;

/// The server as the only node of its cluster.
pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route(
            "/v1/core/cluster/self",
            get(async |State(context): State<Shared>| v1(&member(&context, PROTOCOL_VERSION))),
        )
        .route("/v1/core/cluster/nodes", get(nodes_v1))
        .route("/v1/core/cluster/simple/nodes", get(async |State(context): State<Shared>| v1(&[address(&context)])))
        .route("/v1/core/cluster/health", get(async |State(context): State<Shared>| v1(&state(&context))))
        .route("/v2/core/cluster/node/self", get(async |context| node(PROTOCOL_VERSION, context)))
        .route("/v2/core/cluster/node/list", get(async |context, params| nodes(PROTOCOL_VERSION, context, params)))
        .route("/v2/core/cluster/node/self/health", get(health))
        .route("/v3/admin/core/cluster/node/self", get(async |context| node(PROTOCOL_VERSION_3, context)))
        .route(
            "/v3/admin/core/cluster/node/list",
            get(async |context, params| nodes(PROTOCOL_VERSION_3, context, params)),
        )
        .route("/v3/admin/core/cluster/node/self/health", get(health))
        .route("/v2/core/ops/ids", get(async || v1(&NO_IDS)))
        .route("/v3/admin/core/ops/ids", get(async || reply::success(&NO_IDS)))
}

/// The same for the console of 3.x, which has no context path.
pub(super) fn console_routes() -> Router<Shared> {
    let nodes = get(async |context, params| nodes(PROTOCOL_VERSION_3, context, params));
    Router::new().route("/v3/console/core/cluster/nodes", nodes)
}

/// This server generates no ids that are replicated.
const NO_IDS: [Value; 0] = [];

/// The envelope that 1.x gives these answers.
fn v1(data: &impl serde::Serialize) -> Response {
    reply::json_of(200, &json!({ "code": 200, "message": null, "data": data }))
}

/// How this server is called in answers.
pub(super) fn address(context: &Context) -> String {
    context.http_addr.to_string()
}

fn state(context: &Context) -> &'static str {
    if context.ready() { "UP" } else { "DOWN" }
}

fn member(context: &Context, version: &str) -> Value {
    let port = context.http_addr.port();
    json!({
        "ip": context.http_addr.ip().to_string(),
        "port": port,
        "state": state(context),
        "extendInfo": {
            "lastRefreshTime": context.clock.wall_ms(),
            "raftMetaData": { "metaDataMap": {} },
            // Where Nacos has its Raft port; nothing listens there.
            "raftPort": port.saturating_sub(1_000).to_string(),
            "readyToUpgrade": true,
            "supportGrayModel": false,
            "version": version,
        },
        "address": address(context),
        "failAccessCnt": 0,
        "abilities": {
            "remoteAbility": { "supportRemoteConnection": true, "grpcReportEnabled": false },
            "configAbility": { "supportRemoteMetrics": false },
            "namingAbility": { "supportJraft": false },
        },
        "grpcReportEnabled": false,
    })
}

fn node(version: &str, State(context): State<Shared>) -> Response {
    reply::success(&member(&context, version))
}

async fn health(State(context): State<Shared>) -> Response {
    reply::success(&state(&context))
}

/// The node, if its address holds the text asked for.
async fn nodes_v1(State(context): State<Shared>, params: Params) -> Response {
    let wanted = params.get("keyword").is_none_or(|text| address(&context).contains(text.trim()));
    let found = wanted.then(|| member(&context, PROTOCOL_VERSION));
    v1(&found.as_slice())
}

/// The node, if its address and state are the ones asked for.
fn nodes(version: &str, State(context): State<Shared>, params: Params) -> Response {
    const STATES: [&str; 5] = ["STARTING", "UP", "SUSPICIOUS", "DOWN", "ISOLATION"];
    let wanted = params.get("state").map(|text| text.trim().to_ascii_uppercase());
    if let Some(text) = params.get("state")
        && !STATES.iter().any(|known| known.eq_ignore_ascii_case(text.trim()))
    {
        return *ApiError::IllegalState.refuse(400, &format!("Illegal state: {text}"));
    }
    let found = wanted.is_none_or(|wanted| wanted == state(&context))
        && params.get("address").is_none_or(|text| address(&context).contains(text.trim()));
    reply::success(&found.then(|| member(&context, version)).as_slice())
}
