use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;

use crate::{Discovery, Health, Readiness, ReadinessState, StatusReport};

/// What operators and orchestrators ask, under the names that Spring gives it: `GET /health` asks the registry whether it
/// answers, `GET /health/readiness` tells whether this process takes traffic, `GET /nacosdiscovery` is the
/// [`StatusReport`]. The first two answer 503 where the answer is no.
///
/// Give an orchestrator the readiness: the health of the registry is no reason to stop this process.
pub fn operations(discovery: &Discovery, readiness: &Readiness) -> Router {
    Router::new()
        .route("/health", get(health))
        .route("/nacosdiscovery", get(report))
        .with_state(discovery.clone())
        .merge(Router::new().route("/health/readiness", get(ready)).with_state(readiness.clone()))
}

async fn health(State(discovery): State<Discovery>) -> Response {
    let health: Health = discovery.health().await;
    (status_code(health.is_up()), Json(health)).into_response()
}

async fn report(State(discovery): State<Discovery>) -> Json<StatusReport> {
    Json(discovery.status())
}

async fn ready(State(readiness): State<Readiness>) -> Response {
    let state = readiness.state();
    let reason = match &state {
        ReadinessState::Ready => None,
        ReadinessState::Starting => Some("not registered yet".to_owned()),
        ReadinessState::NotRegistered(state) => Some(format!("the registration is {state}")),
        ReadinessState::Down => Some("set to take no traffic".to_owned()),
        ReadinessState::Leaving => Some("about to stop".to_owned()),
    };
    let body = match reason {
        None => json!({ "status": "UP" }),
        Some(reason) => json!({ "status": "OUT_OF_SERVICE", "reason": reason }),
    };
    (status_code(state == ReadinessState::Ready), Json(body)).into_response()
}

const fn status_code(good: bool) -> StatusCode {
    if good { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}
