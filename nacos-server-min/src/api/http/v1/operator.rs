use serde_json::json;

use super::asked::{Asked, Outcome, ok, refuse};
use crate::api::http::{reply, values};
use crate::context::Context;
use crate::ops;

/// `GET /v1/ns/operator/metrics`: what the server cannot know of its machine is 0.
pub(super) fn metrics(context: &Context, asked: &Asked) -> Outcome {
    let all = ops::metrics(context);
    let status = if all.up { "UP" } else { "DOWN" };
    if asked.get("onlyStatus").is_none_or(|text| !text.trim().eq_ignore_ascii_case("false")) {
        return Ok(reply::json_of(200, &json!({ "status": status })));
    }
    Ok(reply::json_of(
        200,
        &json!({
            "status": status,
            "serviceCount": all.services,
            "instanceCount": all.instances,
            "subscribeCount": all.subscriptions,
            "responsibleInstanceCount": all.instances,
            "clientCount": all.clients(),
            "connectionBasedClientCount": all.connections,
            "ephemeralIpPortClientCount": all.ephemeral_clients,
            "persistentIpPortClientCount": all.persistent_clients,
            "responsibleClientCount": all.clients(),
            "cpu": 0.0,
            "load": 0.0,
            "mem": 0.0,
        }),
    ))
}

/// `GET /v1/ns/operator/switches`
pub(super) fn switches(context: &Context, _: &Asked) -> Outcome {
    let switches = context.switches().clone();
    Ok(reply::json_of(200, &switches))
}

/// `PUT /v1/ns/operator/switches`
pub(super) fn turn(context: &Context, asked: &Asked) -> Outcome {
    let (entry, value) = (asked.present("entry")?, asked.present("value")?);
    context.turn_switch(entry.trim(), value).map_err(|error| refuse(error.to_string()))?;
    ok()
}

/// `/v1/ns/operator/push/state`: a reset counts from what is answered here.
pub(super) fn push_state(context: &Context, asked: &Asked) -> Outcome {
    let reset = asked.flag("reset");
    let state = ops::push_state(context, reset);
    // Nothing of nothing is written without a fraction.
    let ratio = if state.total == 0 { json!(0) } else { json!(state.ratio()) };
    let mut shown = json!({ "succeed": state.succeeded, "total": state.total, "ratio": ratio, "reset": reset });
    if asked.flag("detail") {
        shown["detail"] = json!({ "avgPushCost": -1, "maxPushCost": -1 });
    }
    Ok(reply::json_of(200, &shown))
}

/// `GET /v1/ns/operator/distro/client`: there is one server, and it is responsible for everything.
pub(super) fn responsible(context: &Context, asked: &Asked) -> Outcome {
    asked.present("ip")?;
    asked.present("port")?;
    Ok(reply::json_of(200, &json!({ "responsibleServer": context.http_addr.to_string() })))
}

/// `PUT /v1/ns/operator/log`: taken note of; the levels of this server are set when it starts.
pub(super) fn log(_: &Context, asked: &Asked) -> Outcome {
    let (name, level) = (asked.present("logName")?, asked.present("logLevel")?);
    tracing::info!(name, level, "a log level was asked for, which has no effect");
    ok()
}

/// `/v1/ns/health/server`
pub(super) fn health(context: &Context, _: &Asked) -> Outcome {
    let (services, port) = (ops::metrics(context).services, context.http_addr.port());
    let text = format!("Hello! I am Nacos-Naming and healthy! total services: {services}, local port:{port}");
    Ok(reply::json_of(200, &json!({ "msg": text })))
}

/// `GET /v1/ns/health/checkers`
pub(super) fn checkers(_: &Context, _: &Asked) -> Outcome {
    Ok(reply::json_of(200, &values::checkers()))
}
