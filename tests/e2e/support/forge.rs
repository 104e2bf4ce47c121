//! Pushes that a test makes up.

use std::time::Duration;

use nacos_client::{EmptyPolicy, NamingService, ServiceHandle};
use nacos_proto::Payload;
use nacos_proto::grpc::{Instance, Message, NotifySubscriberRequest, ServiceInfo};

use super::consumer::service;
use super::tap::Tap;
use super::world::{Registry, World, unique};

/// A push as a server sends it.
pub(crate) fn push(name: &str, number: usize, last_ref_time: i64, hosts: Vec<Instance>) -> Payload {
    let service_info = ServiceInfo {
        name: Some(name.to_owned()),
        group_name: Some("DEFAULT_GROUP".to_owned()),
        clusters: Some(String::new()),
        hosts: Some(hosts),
        last_ref_time,
        ..ServiceInfo::default()
    };
    Payload::encode_json(&NotifySubscriberRequest { request_id: number.to_string(), service_info: Some(service_info) })
}

/// A time stamp later than any that a server of these tests gives.
pub(crate) const LATE: i64 = 4_000_000_000_000;

/// A client whose pushes the test makes up, subscribed to a service.
pub(crate) async fn tapped(world: World) -> (Registry, Tap, NamingService, ServiceHandle, String) {
    let registry = world.registry().await;
    let tap = Tap::to(registry.grpc()).await;
    // The server's own pushes would be news from another clock.
    tap.rewrite(|payload| (payload.kind() != NotifySubscriberRequest::TYPE).then_some(payload));
    let config = NamingService::builder().servers([tap.entry()]).empty_policy(EmptyPolicy::Accept);
    let nacos = config.reconcile_interval(Duration::ZERO).build().expect("the settings are valid");
    let name = unique("orders");
    let orders = service(&nacos, &name);
    orders.ready().await.expect("the server answers");
    (registry, tap, nacos, orders, name)
}
