//! The naming API of the second and third generation: the same operations under other paths, in an envelope.

mod catalog;
mod clients;
mod failure;
mod form;
mod instances;
mod operator;
mod services;

use axum::Router;

use super::service::Shared;

/// What the console of 3.x asks, under paths of its own and without context path.
pub(super) fn console_routes() -> Router<Shared> {
    Router::new().merge(services::console_routes()).merge(instances::console_routes())
}

/// All paths under `/v2/ns`, `/v3/client/ns` and `/v3/admin/ns`.
pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .merge(instances::routes())
        .merge(services::routes())
        .merge(catalog::routes())
        .merge(clients::routes())
        .merge(operator::routes())
}
