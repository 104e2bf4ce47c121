use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, put};
use serde_json::{Map, Value, json};

use super::form::{Form, Generation};
use crate::api::http::api_error::ApiError;
use crate::api::http::console;
use crate::api::http::reply::{self, settle};
use crate::api::http::service::Shared;
use crate::ops;

pub(super) fn routes() -> Router<Shared> {
    let mut router = Router::new();
    for prefix in ["/v2/ns/operator", "/v2/ns/ops", "/v3/admin/ns/ops"] {
        router = router
            .route(&format!("{prefix}/metrics"), get(metrics))
            .route(&format!("{prefix}/switches"), get(switches).put(turn))
            .route(&format!("{prefix}/log"), put(log));
    }
    router
}

async fn metrics(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let all = ops::metrics(&context);
        let status = if console::is_up(&context) { "UP" } else { "DOWN" };
        if form.flag("onlyStatus")?.unwrap_or(true) {
            return Ok(reply::success(&json!({ "status": status })));
        }
        let mut data = json!({
            "status": status,
            "serviceCount": all.services,
            "instanceCount": all.instances,
            "subscribeCount": all.subscriptions,
            "clientCount": all.clients(),
            "connectionBasedClientCount": all.connections,
            "ephemeralIpPortClientCount": all.ephemeral_clients,
            "persistentIpPortClientCount": all.persistent_clients,
            "responsibleClientCount": all.clients(),
        });
        if let (Generation::V2, Value::Object(data)) = (form.generation, &mut data) {
            data.extend(["cpu", "load", "mem"].map(|name| (name.to_owned(), json!(0.0))));
        }
        Ok(reply::success(&data))
    })())
}

/// The switches; the third generation has other names for the versions.
async fn switches(State(context): State<Shared>, form: Form) -> Response {
    let all = serde_json::to_vec(&*context.switches()).unwrap_or_default();
    if form.generation == Generation::V2 {
        return reply::success_of(&all.into());
    }
    let mut all: Map<String, Value> = serde_json::from_slice(&all).unwrap_or_default();
    for (old, new) in [
        ("pushGoVersion", "pushVersionOfGo"),
        ("pushJavaVersion", "pushVersionOfJava"),
        ("pushPythonVersion", "pushVersionOfPython"),
        ("pushCVersion", "pushVersionOfC"),
        ("pushCSharpVersion", "pushVersionOfCsharp"),
    ] {
        if let Some(version) = all.remove(old) {
            all.insert(new.to_owned(), version);
        }
    }
    reply::success(&all)
}

async fn turn(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        form.flag("debug")?;
        let (entry, value) = (form.required("entry", "String")?, form.required("value", "String")?);
        let turned = context.turn_switch(entry, value);
        turned.map_err(|error| ApiError::Server.refuse(500, &error.to_string()))?;
        Ok(reply::success(&"ok"))
    })())
}

/// Taken, and nothing is done: the levels are those the server was started with.
async fn log(form: Form) -> Response {
    settle((|| {
        form.asked("logName", "String")?;
        form.asked("logLevel", "String")?;
        Ok(reply::success(&"ok"))
    })())
}
