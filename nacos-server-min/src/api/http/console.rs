use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use serde_json::{Value, json};

use super::reply;
use super::service::Shared;
use crate::context::Context;
use crate::ops::ServerStatus;

/// The version whose protocol this server speaks; some clients look at it.
pub(super) const PROTOCOL_VERSION: &str = "2.5.1";
/// The same where 3.x is spoken.
pub(super) const PROTOCOL_VERSION_3: &str = "3.0.3";
const NOT_READY: &str = "naming not in readiness";
/// Envelope code of a server that is not ready.
const SERVER_ERROR: i32 = 30_000;

/// Liveness, readiness and state, in the words of all generations.
pub(super) fn probes() -> Router<Shared> {
    Router::new()
        .route("/v1/console/health/liveness", get(async || reply::text(200, "OK")))
        .route("/v1/console/health/readiness", get(readiness_v1))
        .route("/v2/console/health/liveness", get(alive))
        .route("/v2/console/health/readiness", get(readiness_v2))
        .route("/v3/console/health/liveness", get(alive))
        .route("/v3/console/health/readiness", get(readiness_v3))
        .route("/v3/admin/core/state/liveness", get(alive))
        .route("/v3/admin/core/state/readiness", get(readiness_v2))
        .route("/v1/console/server/state", get(state))
        .route("/v3/console/server/state", get(console_state))
}

async fn alive() -> Response {
    reply::envelope(200, 0, "success", &"ok")
}

/// Whether the server does its work, and no operator says otherwise.
pub(super) fn is_up(context: &Context) -> bool {
    let said = context.switches().overridden_status();
    said.map_or_else(|| context.ready(), |status| status == ServerStatus::Up)
}

async fn readiness_v1(State(context): State<Shared>) -> Response {
    if is_up(&context) { reply::text(200, "OK") } else { reply::text(500, NOT_READY) }
}

async fn readiness_v2(State(context): State<Shared>) -> Response {
    if is_up(&context) { alive().await } else { reply::envelope(200, SERVER_ERROR, NOT_READY, &Value::Null) }
}

async fn readiness_v3(State(context): State<Shared>) -> Response {
    if is_up(&context) { alive().await } else { reply::envelope(500, SERVER_ERROR, NOT_READY, &Value::Null) }
}

/// What consoles ask first. Most of it tells of parts that this server does not have, with the values a fresh Nacos shows.
fn server_state(context: &Context, version: &str) -> Value {
    let mut state = json!({
        "version": version,
        "startup_mode": "standalone",
        "function_mode": null,
        "server_port": context.http_addr.port().to_string(),
    });
    if let Value::Object(state) = &mut state {
        state.insert("auth_enabled".to_owned(), json!(context.guard.is_some().to_string()));
        state.extend(FIXED_STATE.map(|(name, value)| (name.to_owned(), json!(value))));
    }
    state
}

const FIXED_STATE: [(&str, &str); 19] = [
    ("auth_admin_request", "false"),
    ("auth_system_type", "nacos"),
    ("login_page_enabled", "false"),
    ("console_ui_enabled", "true"),
    ("config_retention_days", "30"),
    ("datasource_platform", ""),
    ("plugin_datasource_log_enabled", "false"),
    ("defaultClusterQuota", "100000"),
    ("defaultGroupQuota", "200"),
    ("defaultMaxAggrCount", "10000"),
    ("defaultMaxAggrSize", "1024"),
    ("defaultMaxSize", "102400"),
    ("isCapacityLimitCheck", "false"),
    ("isHealthCheck", "true"),
    ("isManageCapacity", "true"),
    ("maxContent", "10485760"),
    ("maxHealthCheckFailCount", "12"),
    ("notifyConnectTimeout", "100"),
    ("notifySocketTimeout", "200"),
];

async fn state(State(context): State<Shared>) -> Response {
    reply::json_of(200, &server_state(&context, PROTOCOL_VERSION))
}

async fn console_state(State(context): State<Shared>) -> Response {
    reply::json_of(200, &server_state(&context, PROTOCOL_VERSION_3))
}

pub(super) async fn state_v3(State(context): State<Shared>) -> Response {
    reply::success(&server_state(&context, PROTOCOL_VERSION_3))
}
