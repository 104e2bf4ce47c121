use axum::body::Body;
use nacos_discovery::{Balance, BalanceLayer, ReplayBody, RetryNext, RetryNextLayer};
use tower_layer::Layer;

use super::GatewayLimits;
use super::instances::Instances;
use super::patient::Patient;
use super::sent::Sent;

/// Sends requests to services: what each of these adds is told by their own pages. Cheap to clone.
pub(super) type Client = RetryNext<Balance<Patient<Instances<Sent<ReplayBody<Body>>>>>>;

pub(super) fn client(balance: &BalanceLayer, limits: GatewayLimits) -> Client {
    let instances = Instances::new(limits.connect);
    let balance = balance.clone().writing_host();
    RetryNextLayer::above(&balance).layer(balance.layer(Patient::new(instances, limits.answer)))
}
