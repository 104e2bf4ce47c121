//! The consuming side of a scenario: clients that believe every list, and what they see in short form.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use nacos_client::{EmptyPolicy, Instance, NamingService, Select, ServiceChange, ServiceHandle, Subscription};
use nacos_proto::grpc::Instance as WireInstance;

use super::wait::{in_time, wait_until};
use super::witness::foreign;
use super::world::Registry;

const MARK: &str = "mark";

/// A client that believes removals at once and compares no lists on its own, so that only pushes tell it anything.
pub(crate) fn prompt(registry: &Registry) -> NamingService {
    let config = registry.config().empty_policy(EmptyPolicy::Accept).reconcile_interval(Duration::ZERO);
    config.build().expect("the settings are valid")
}

/// The handle of a service with a valid name.
pub(crate) fn service(nacos: &NamingService, name: &str) -> ServiceHandle {
    nacos.service(name).expect("the name is valid")
}

/// The ports of instances, in their order.
pub(crate) fn ports<'a>(instances: impl IntoIterator<Item = &'a Arc<Instance>>) -> Vec<u16> {
    instances.into_iter().map(|i| i.port).collect()
}

/// A foreign instance that can be told from an earlier one of the same address.
pub(crate) fn marked(port: i32, mark: impl ToString) -> WireInstance {
    WireInstance { metadata: [(MARK, mark.to_string())].into_iter().collect(), ..foreign(port) }
}

/// The mark of the first instance.
pub(crate) fn mark(instances: &[Arc<Instance>]) -> Option<&str> {
    instances.first()?.metadata.get(MARK).map(String::as_str)
}

/// Waits until the client's list of the service has instances of exactly these ports.
pub(crate) async fn lists(handle: &ServiceHandle, expected: &[u16]) {
    let what = format!("{} lists {expected:?}", handle.key());
    wait_until(&what, || handle.try_snapshot().is_ok_and(|s| s.is_some_and(|s| ports(s.instances()) == expected)))
        .await;
}

/// The next item, which must come.
pub(crate) async fn next(subscription: &mut Subscription) -> ServiceChange {
    in_time("the next item", subscription.next()).await.expect("the stream goes on")
}

/// The item that is there already.
pub(crate) fn at_hand(subscription: &mut Subscription) -> Option<ServiceChange> {
    subscription.next().now_or_never().flatten()
}

/// Reads on until an item satisfies `test`.
pub(crate) async fn next_that(
    subscription: &mut Subscription,
    what: &str,
    test: impl Fn(&ServiceChange) -> bool,
) -> ServiceChange {
    let read_on = async {
        loop {
            let change = subscription.next().await.expect("the stream goes on");
            if test(&change) {
                return change;
            }
        }
    };
    in_time(what, read_on).await
}

/// A subscription to everything, its first item read.
pub(crate) async fn subscribed(handle: &ServiceHandle) -> Subscription {
    let mut subscription = handle.subscribe(Select::all());
    next(&mut subscription).await;
    subscription
}
