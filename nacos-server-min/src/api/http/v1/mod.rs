//! The naming API of the first generation, `/v1/ns/…`: texts instead of envelopes, names with their group in one parameter.

mod asked;
mod batch;
mod beat;
mod catalog;
mod gate;
mod instance;
mod operator;
mod refusal;
mod selection;
mod service;
mod write;

use axum::Router;
use axum::routing::{MethodRouter, get, post, put};

use super::service::{Shared, unknown};
use asked::{Act, run};

pub(super) use beat::at_once;
pub(super) use gate::refused;

/// Answers every method but those that ask about the path itself.
fn any(act: Act) -> MethodRouter<Shared> {
    read(act).post(run(act)).put(run(act)).delete(run(act)).patch(run(act))
}

fn read(act: Act) -> MethodRouter<Shared> {
    get(run(act)).head(unknown)
}

pub(super) fn routes() -> Router<Shared> {
    let instance = post(run(write::register))
        .delete(run(write::deregister))
        .put(run(write::update))
        .patch(run(write::patch))
        .get(run(instance::detail))
        .head(unknown);
    let service = post(run(service::create))
        .put(run(service::update))
        .delete(run(service::remove))
        .get(run(service::detail))
        .head(unknown);
    let ns = Router::new()
        .route("/instance", instance)
        .route("/instance/list", read(instance::list))
        .route("/instance/beat", put(run(beat::take)))
        .route("/instance/statuses", any(instance::statuses))
        .route("/instance/metadata/batch", put(run(batch::set)).delete(run(batch::remove)))
        .route("/service", service)
        .route("/service/list", read(selection::list))
        .route("/service/names", any(selection::names))
        .route("/service/subscribers", read(selection::subscribers))
        .route("/service/selector/types", read(selection::selector_types))
        .route("/cluster", put(run(service::update_cluster)))
        .route("/health", put(run(service::set_health)))
        .route("/health/instance", put(run(service::set_health)))
        .route("/health/server", any(operator::health))
        .route("/health/checkers", read(operator::checkers))
        .route("/catalog/service", read(catalog::service))
        .route("/catalog/instances", any(catalog::instances))
        .route("/catalog/services", read(catalog::services))
        .nest("/operator", operators())
        .nest("/ops", operators());
    Router::new().nest("/v1/ns", ns)
}

fn operators() -> Router<Shared> {
    Router::new()
        .route("/metrics", read(operator::metrics))
        .route("/switches", read(operator::switches).put(run(operator::turn)))
        .route("/push/state", any(operator::push_state))
        .route("/distro/client", read(operator::responsible))
        .route("/log", put(run(operator::log)))
}
