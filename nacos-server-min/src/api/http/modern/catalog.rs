use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{any, get, put};
use serde_json::json;

use super::failure::failure;
use super::form::Form;
use crate::api::http::api_error::ApiError;
use crate::api::http::reply::{self, settle};
use crate::api::http::service::Shared;
use crate::api::http::{DEFAULT_GROUP, values};
use crate::ops::{self, OpError, Shown};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/v2/ns/catalog/instances", any(instances))
        .route("/v2/ns/health", put(set_health))
        .route("/v2/ns/health/instance", put(set_health))
        .route("/v3/admin/ns/health/instance", put(set_health))
        .route("/v3/admin/ns/health/checkers", get(async || reply::success(&values::checkers())))
}

/// A page of a service's instances, those with the wanted health and those enabled or not, if asked for.
async fn instances(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let full = form.asked("serviceName", "String")?;
        let grouped = if full.contains("@@") { full.to_owned() } else { format!("{DEFAULT_GROUP}@@{full}") };
        let key = form.grouped_key_of(&grouped)?;
        form.asked("pageNo", "Integer")?;
        form.asked("pageSize", "Integer")?;
        let (page, ..) = form.page(20, i32::MAX)?;
        let (healthy, enabled) = (form.flag("healthyOnly")?, form.flag("enabledOnly")?);
        let mut rows = ops::rows(&context, &key);
        rows.retain(|shown| {
            healthy.is_none_or(|wanted| shown.instance.healthy == wanted)
                && enabled.is_none_or(|wanted| shown.instance.enabled == wanted)
        });
        let (skip, take) = page.bounds();
        let listed: Vec<&Shown> = rows.iter().skip(skip).take(take).collect();
        let mut data = json!({ "count": rows.len() });
        if !listed.is_empty() {
            data["instances"] = json!(listed);
        }
        Ok(reply::success(&data))
    })())
}

async fn set_health(State(context): State<Shared>, form: Form) -> Response {
    settle((|| {
        let key = form.key()?;
        let instance = form.instance_key()?;
        form.required("healthy", "Boolean")?;
        let healthy = form.flag("healthy")?.unwrap_or_default();
        ops::set_health(&context, &key, &instance, healthy).map_err(|error| match error {
            OpError::CheckerWorking => {
                let (service, cluster) = (key.grouped(), &instance.cluster);
                let text = format!("health check is still working, service: {service}, cluster: {cluster}");
                ApiError::Server.refuse(400, &text)
            }
            other => failure(&key, &other),
        })?;
        Ok(reply::success(&"ok"))
    })())
}
