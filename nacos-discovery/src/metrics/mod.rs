//! Numbers of the balancer for any recorder of the [`metrics`] crate, under the names that Spring Cloud LoadBalancer gives
//! them with Micrometer.
//!
//! | name | kind | labels |
//! |---|---|---|
//! | `loadbalancer.requests.active` | gauge | those of the instance |
//! | `loadbalancer.requests.success` | histogram, seconds | those of the instance and the request, `outcome`, `status` |
//! | `loadbalancer.requests.failed` | histogram, seconds | those of the instance and the request, `exception` |
//! | `loadbalancer.requests.discard` | counter | those of the service and the request, `exception` |
//! | `loadbalancer.requests.cancelled` | counter, not in Spring | those of the instance, or of the service |
//! | `loadbalancer.requests.routed` | counter, not in Spring | those of the service, `rule`, `result` |
//! | `loadbalancer.instance.in_flight`, `.weight`, `.ejected`, `.latency` | gauges, not in Spring | those of the instance |
//!
//! * Labels of a service: `serviceId`, its name, and `group`, which Spring leaves out, as it knows only one.
//! * Labels of an instance: those of its service, `serviceInstance.instanceId`, `.host`, `.port`.
//! * Labels of a request: `method`, and `uri`, which is `UNKNOWN` unless [`MetricsHooks::with_uri`] is set: paths hold ids, and every
//!   one would be a series of its own.
//! * `rule` is the name of a routing rule, `UNKNOWN` where none applied; only calls of services with rules are counted. `result` is
//!   `hit` where its destination took the call, `miss` where others did, `failed` where nobody did. What requests say, such as
//!   the version that one names, is never a label.
//! * `success` is every answer, whatever its status, as in Spring: `outcome` and `status` tell them apart. An answer whose body
//!   breaks off is `failed`. Attempts count one by one.
//! * `exception` is one of a few words in the place of the class of Java: `Connect`, `Timeout`, `Broken`, or why nobody could be
//!   chosen.
//!
//! [`MetricsHooks`] count calls; [`InstanceGauges`] show instances as they are when somebody looks.
//!
//! Recorders for Prometheus write dots as underscores.
//!
//! # Examples
//!
//! ```no_run
//! # fn example(discovery: nacos_discovery::Discovery) {
//! use nacos_discovery::BalanceLayer;
//! use nacos_discovery::metrics::{InstanceGauges, MetricsHooks};
//!
//! let layer = BalanceLayer::new(&discovery).hooks(MetricsHooks::new());
//! let gauges = InstanceGauges::new(&discovery);
//! // Before each scrape:
//! gauges.record();
//! # drop(layer);
//! # }
//! ```

mod exception;
mod gauges;
mod hooks;
mod labels;
mod names;

pub use gauges::InstanceGauges;
pub use hooks::MetricsHooks;
pub use names::describe;
